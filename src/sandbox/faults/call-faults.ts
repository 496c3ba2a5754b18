type Effect =
  /** Answers this status in place of handling the call. */
  | {
      readonly type: 'status';
      readonly code: number;
      readonly error?: string;
      /** Seconds. */
      readonly retryAfter?: number;
    }
  /** Resets the connection in place of handling the call. */
  | { readonly type: 'reset' }
  /** Holds the call before it is handled, on the system clock. */
  | { readonly type: 'delay'; readonly ms: number }
  /** A send reaches the phone and is not stored. */
  | { readonly type: 'not_persisted' }
  /** Handles the call and resets the connection before the answer. */
  | { readonly type: 'lost_answer' };

/** What goes wrong with one call. `name` is for the record of the call. */
export type ApiFault = Effect & { readonly name?: string };

/** A call as rules see it. */
export interface FaultyCall {
  readonly method: string;
  /** Relative to the base URL, `/messages` say; of OAuth and the tools to `{auth_url}`. */
  readonly path: string;
  /** Looks up whose credential came with it; null where it is of no workspace. Absent where nobody asks. */
  readonly workspaceId?: () => Promise<string | null>;
}

/** Decides once per call, before anything is done for it. */
export interface ApiFaults {
  decide(call: FaultyCall): readonly ApiFault[] | Promise<readonly ApiFault[]>;
}
