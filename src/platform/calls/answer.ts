import type { Response } from 'express';
import { ERRORS, type ErrorBody, type ErrorCode } from '../../contract/service/errors.ts';
import { HEADERS } from '../../contract/service/headers.ts';
import type { Scope } from '../../contract/service/scopes.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { PlatformError, type Refusal } from '../kernel/platform-error.ts';

/** What a call is answered. */
export interface Answer {
  readonly status: number;
  /** A text goes as it is, with the type that `headers` name; anything else as JSON. */
  readonly body: object | string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Why it is a refusal; for the record of the call. */
  readonly refused?: Refusal;
}

/** Challenges by code. [auth.challenge] */
const CHALLENGES: Readonly<Partial<Record<ErrorCode, string>>> = {
  invalid_key: 'Bearer error="invalid_token"',
  invalid_token: 'Bearer error="invalid_token"',
  ip_not_allowed: `Bearer error="${ASSUMPTIONS.challengeOfAddress.value}"`,
  insufficient_scope: 'Bearer error="insufficient_scope"',
};

/** The answer to a refusal, by the contract's table. `scope` is what the endpoint asks for. */
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
  // A body that was not read to its end would be read from the socket before the next request.
  if (code === 'payload_too_large') headers['Connection'] = 'close';
  return { status: ERRORS[code].statuses[0], body, headers, refused: error };
}

/** Writes an answer; false when the client is gone. Nothing of the service is cached unless its answer says so. */
export function writeAnswer(response: Response, { status, headers = {}, body }: Answer): boolean {
  if (response.headersSent || response.destroyed) return false;
  response.status(status).set({ 'Cache-Control': 'no-store', ...headers });
  if (typeof body === 'string') response.end(body);
  else response.json(body); // [endpoints.json]
  return true;
}

/** The answer to anything thrown: what is no refusal is a failure of ours. */
export function answerOf(error: unknown, scope?: Scope): Answer {
  return refusal(error instanceof PlatformError ? error : new PlatformError('internal_error'), scope);
}
