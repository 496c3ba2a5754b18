type Effect =
  /** Answers with this status instead of handling the call. */
  | {
      readonly type: 'status';
      readonly code: number;
      readonly error?: string;
      /** Seconds. */
      readonly retryAfter?: number;
    }
  /** Resets the connection instead of handling the call. */
  | { readonly type: 'reset' }
  /** Delays the call before it is handled, on the system clock. */
  | { readonly type: 'delay'; readonly ms: number }
  /** A send reaches the phone but is not stored. */
  | { readonly type: 'not_persisted' }
  /** Handles the call and resets the connection before the answer. */
  | { readonly type: 'lost_answer' };

/** A fault of one call. `name` appears in the record of the call. */
export type ApiFault = Effect & { readonly name?: string };

/** A call to be matched by rules. */
export interface FaultyCall {
  readonly method: string;
  /** Relative to the base URL, for example `/messages`; for OAuth and the tools, to `{auth_url}`. */
  readonly path: string;
  /** The workspace of the call's credential; null without one. Absent if it cannot be looked up. */
  readonly workspaceId?: () => Promise<string | null>;
}

/** Decides once per call, before it is handled. */
export interface ApiFaults {
  decide(call: FaultyCall): readonly ApiFault[] | Promise<readonly ApiFault[]>;
}
