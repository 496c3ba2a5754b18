import type { CheckStep } from '../kernel/decision-trace.ts';

/** One answered call to the API or the authorization server, with the checks that led to the answer. It contains no
 * secret, only the credential's id. */
export interface CallRecord {
  /** Virtual time at which the call arrived, epoch ms. */
  readonly at: number;
  readonly method: string;
  /**
   * Relative to the base URL, for OAuth to the issuer; without the query, which may contain a code. Very long paths
   * are cut off.
   */
  readonly path: string;
  /** The tool that was called, for calls to the tool server; their path is relative to `{auth_url}`. */
  readonly tool?: string;
  /** Of the key, the grant or the OAuth client; null when none was recognized. */
  readonly credentialId: string | null;
  /** The workspace of the credential; null when none was recognized, and for OAuth clients. */
  readonly workspaceId: string | null;
  /** The connection that the call named; null when it named none that exists. */
  readonly connectionId: string | null;
  /** The messages that the call sent or marked as read. */
  readonly messageIds: readonly string[];
  /** Null: the connection was reset without an answer. */
  readonly status: number | null;
  /** The error code of a refusal: in the body, in the redirect, or on the page. */
  readonly code: string | null;
  /** From the start of handling to the answer, on the system clock. */
  readonly ms: number;
  /** The checks that ran, in order; the last one is the refusal. */
  readonly trace: readonly CheckStep[];
}

/** Port: receives the record of each call when it is answered, before the client reads the answer. Must not throw or
 * block. */
export type OnCall = (call: CallRecord) => void;

const MAX_CHARACTERS = 2_048;

/** The path as it is recorded: shortened, because a client chooses its length. */
export function recordedPath(path: string): string {
  return path.length > MAX_CHARACTERS ? `${path.slice(0, MAX_CHARACTERS)}…` : path;
}
