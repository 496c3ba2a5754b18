import type { CheckStep } from '../kernel/decision-trace.ts';

/** One call to the API or to the authorization server as it was answered, and why. Holds no credential, only its id. */
export interface CallRecord {
  /** Virtual time at which the call came in, epoch ms. */
  readonly at: number;
  readonly method: string;
  /**
   * Relative to the base URL, that of OAuth to the issuer; without the query, which may hold a code. Cut off where
   * it is very long.
   */
  readonly path: string;
  /** The tool that was called, at the tool server; its path is relative to `{auth_url}`. */
  readonly tool?: string;
  /** Of the key, the grant or the OAuth client; null when none was recognized. */
  readonly credentialId: string | null;
  /** The workspace of the credential; null when none was recognized, and for OAuth clients. */
  readonly workspaceId: string | null;
  /** The connection that the call named; null when it named none that exists. */
  readonly connectionId: string | null;
  /** The messages that the call sent or marked as read. */
  readonly messageIds: readonly string[];
  /** Null: no answer was written, the connection was reset. */
  readonly status: number | null;
  /** The code of a refusal, in the body, the redirect or for a page. */
  readonly code: string | null;
  /** From the first byte handled to the answer, on the system clock. */
  readonly ms: number;
  /** The checks that ran, in their order; the last one is the refusal. */
  readonly trace: readonly CheckStep[];
}

/** Port: told of each call once it is answered, before the client reads the answer. Must not throw or block. */
export type OnCall = (call: CallRecord) => void;

const MAX_CHARACTERS = 2_048;

/** The path of a record: bounded, since a client chooses it. */
export function recordedPath(path: string): string {
  return path.length > MAX_CHARACTERS ? `${path.slice(0, MAX_CHARACTERS)}…` : path;
}
