import type { Response } from 'express';
import { ERRORS, type ErrorBody, type ErrorCode } from '../../contract/service/errors.ts';
import { HEADERS } from '../../contract/service/headers.ts';
import type { Scope } from '../../contract/service/scopes.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { PlatformError, type Refusal } from '../kernel/platform-error.ts';

/** The answer to a call. */
export interface Answer {
  readonly status: number;
  /** A string is sent unchanged, with the content type in `headers`; anything else is sent as JSON. */
  readonly body: object | string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Why the call was refused, for its record; absent for a success. */
  readonly refused?: Refusal;
}

/** Challenges by code. [auth.challenge] */
const CHALLENGES: Readonly<Partial<Record<ErrorCode, string>>> = {
  invalid_key: 'Bearer error="invalid_token"',
  invalid_token: 'Bearer error="invalid_token"',
  ip_not_allowed: `Bearer error="${ASSUMPTIONS.challengeOfAddress.value}"`,
  insufficient_scope: 'Bearer error="insufficient_scope"',
};

/** The answer to a refusal, from the contract's table. `scope` is the one that the endpoint requires. */
export function refusal(error: PlatformError, scope?: Scope): Answer {
  const { code, field, hint, retryAfterSeconds } = error;
  const body: ErrorBody = { error: code }; // [errors.body.code]
  // [errors.body.no-more]
  if (code === 'invalid_request') {
    body.field = field ?? 'body';
    if (hint !== undefined) body.hint = hint;
  }
  const headers: Record<string, string> = {};
  const challenge = CHALLENGES[code];
  if (challenge !== undefined) {
    const wanted = code === 'insufficient_scope' && scope !== undefined ? `, scope="${scope}"` : '';
    headers[HEADERS.wwwAuthenticate] = challenge + wanted;
  }
  if (retryAfterSeconds !== undefined) headers[HEADERS.retryAfter] = String(retryAfterSeconds);
  // Otherwise the rest of the unread body would precede the next request on the socket.
  if (code === 'payload_too_large') headers['Connection'] = 'close';
  return { status: ERRORS[code].statuses[0], body, headers, refused: error };
}

/** Writes an answer; false if the client has disconnected. Answers are not cacheable unless their headers say so. */
export function writeAnswer(response: Response, { status, headers = {}, body }: Answer): boolean {
  if (response.headersSent || response.destroyed) return false;
  response.status(status).set({ 'Cache-Control': 'no-store', ...headers });
  if (typeof body === 'string') response.end(body);
  else response.json(body); // [endpoints.json]
  return true;
}

/** The answer to anything thrown: whatever is not a refusal is an internal error. */
export function answerOf(error: unknown, scope?: Scope): Answer {
  return refusal(error instanceof PlatformError ? error : new PlatformError('internal_error'), scope);
}
