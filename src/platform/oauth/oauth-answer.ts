import type { Answer } from '../calls/answer.ts';
import { OauthError, type OauthErrorCode } from './oauth-error.ts';
import { withParameters } from './redirect-uri.ts';

/** Nothing that carries a code, a token or a refusal may be kept, or lead the next page back here. */
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

/** What is the same for everybody, and changes with the software alone. */
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

/** The answer to anything thrown: what is no refusal is a failure of ours, and says nothing more. */
export function answerOfFailure(error: unknown): Answer {
  return refusalAnswer(
    error instanceof OauthError ? error : new OauthError('server_error', 'the server failed'),
  );
}

/** Where an authorization response goes, and from whom (RFC 9207). */
export interface Return {
  readonly redirectUri: string;
  readonly state: string | null;
  readonly issuer: string;
}

/** 303: what follows is a GET, also after the form of a page. */
export function redirect(location: string): Answer {
  return { status: 303, headers: { ...UNCACHED, Location: location }, body: '' };
}

/** The user comes back with a code (RFC 6749, 4.1.2). */
export function codeAnswer({ redirectUri, state, issuer: iss }: Return, code: string): Answer {
  return redirect(withParameters(redirectUri, { code, state, iss }));
}

/** The user comes back with a refusal (RFC 6749, 4.1.2.1). */
export function returnedRefusal({ redirectUri, state, issuer: iss }: Return, refused: OauthError): Answer {
  const { code: error, description: error_description } = refused;
  return { ...redirect(withParameters(redirectUri, { error, error_description, state, iss })), refused };
}
