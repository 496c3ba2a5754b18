import type { Answer } from '../calls/answer.ts';
import { OauthError, type OauthErrorCode } from './oauth-error.ts';
import { withParameters } from './redirect-uri.ts';

/** For answers with a code, a token or a refusal: they must not be cached or sent as a referrer. */
const UNCACHED = {
  'Cache-Control': 'no-store',
  Pragma: 'no-cache',
  'Referrer-Policy': 'no-referrer',
} as const;

const JSON_TYPE = { 'Content-Type': 'application/json; charset=utf-8' } as const;

const STATUSES: Readonly<Partial<Record<OauthErrorCode, number>>> = {
  invalid_client: 401,
  server_error: 500,
};

export function jsonAnswer(
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return {
    status,
    headers: { ...UNCACHED, ...JSON_TYPE, ...headers },
    body: `${JSON.stringify(body)}\n`,
  };
}

/** An answer that is the same for all clients and changes only with the software. */
export function documentAnswer(body: object): Answer {
  const { Pragma: _, ...headers } = UNCACHED;
  return {
    status: 200,
    headers: { ...headers, ...JSON_TYPE, 'Cache-Control': 'public, max-age=300' },
    body: `${JSON.stringify(body)}\n`,
  };
}

/** A refusal to a client (RFC 6749, 5.2). */
export function refusalAnswer(refused: OauthError, headers: Readonly<Record<string, string>> = {}): Answer {
  const { code, description } = refused;
  const body = { error: code, error_description: description };
  return { ...jsonAnswer(STATUSES[code] ?? 400, body, headers), refused };
}

/** The answer to anything thrown: whatever is not a refusal is a `server_error` without details. */
export function answerOfFailure(error: unknown): Answer {
  return refusalAnswer(
    error instanceof OauthError ? error : new OauthError('server_error', 'the server failed'),
  );
}

/** The recipient of an authorization response, and its issuer (RFC 9207). */
export interface Return {
  readonly redirectUri: string;
  readonly state: string | null;
  readonly issuer: string;
}

/** A 303, so that the browser follows with a GET even after a form. */
export function redirect(location: string): Answer {
  return { status: 303, headers: { ...UNCACHED, Location: location }, body: '' };
}

/** The redirect with a code (RFC 6749, 4.1.2). */
export function codeAnswer({ redirectUri, state, issuer: iss }: Return, code: string): Answer {
  return redirect(withParameters(redirectUri, { code, state, iss }));
}

/** The redirect with an error (RFC 6749, 4.1.2.1). */
export function returnedRefusal({ redirectUri, state, issuer: iss }: Return, refused: OauthError): Answer {
  const { code: error, description: error_description } = refused;
  return { ...redirect(withParameters(redirectUri, { error, error_description, state, iss })), refused };
}
