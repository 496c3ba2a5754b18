import type { CheckStep } from '../kernel/decision-trace.ts';
import { beginningOf } from '../kernel/recorded-text.ts';
import type { Answer } from './answer.ts';

/** One answered call to the API or the authorization server, with the checks that led to the answer. It contains the id
 * of the credential, and no secret. */
export interface CallRecord {
  /** Virtual time at which the call arrived, epoch ms. */
  readonly at: number;
  readonly method: string;
  /**
   * Relative to the base URL, for OAuth to the issuer; without the query. Very long paths are cut off.
   */
  readonly path: string;
  /** Without its question mark, and without the values of secrets. Null if there is none. */
  readonly query: string | null;
  /** What was read of it as text, without files and the values of secrets; null if nothing was read. */
  readonly requestBody: string | null;
  /** The same of an answer in JSON. */
  readonly responseBody: string | null;
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

/** Names of fields whose values give access to something: a client secret, a token, a code, the state of a consent. */
const SECRET_FIELD = String.raw`(?:\w*(?:secret|token|code|verifier)|key|form|state)`;
const IN_JSON = new RegExp(String.raw`("${SECRET_FIELD}"\s*:\s*")(?:[^"\\]|\\.)*`, 'gi');
const IN_FORM = new RegExp(`((?:^|&)${SECRET_FIELD}=)[^&]*`, 'gi');

/** The beginning of a query or a body as it is recorded: `…` stands for the values of secrets. */
export function recordedText(text: Uint8Array | string): string {
  return beginningOf(text, (beginning) => beginning.replace(IN_JSON, '$1…').replace(IN_FORM, '$1…'));
}

/** The beginning of an answer in JSON; null for a page. */
export function recordedAnswer({ body, headers = {} }: Answer): string | null {
  if (typeof body === 'object') return recordedText(JSON.stringify(body));
  return /json/.test(headers['Content-Type'] ?? '') ? recordedText(body.trimEnd()) : null;
}
