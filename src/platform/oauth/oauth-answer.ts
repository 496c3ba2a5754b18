import type { Response } from 'express';
import { OauthError, type OauthErrorCode, type PageRefusal } from './oauth-error.ts';
import { withParameters } from './redirect-uri.ts';

/** What an OAuth endpoint answers. */
export interface OauthAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Why it is a refusal; for the record of the call. */
  readonly refused?: OauthError | PageRefusal;
  /** The code that a fault made up. */
  readonly madeUp?: string;
}

/** Nothing that carries a code, a token or a refusal may be kept, or lead the next page back here. */
const UNCACHED = {
  'Cache-Control': 'no-store',
  Pragma: 'no-cache',
  'Referrer-Policy': 'no-referrer',
} as const;

const STATUSES: Readonly<Partial<Record<OauthErrorCode, number>>> = {
  invalid_client: 401,
  server_error: 500,
};

export function jsonAnswer(
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): OauthAnswer {
  return {
    status,
    headers: { ...UNCACHED, 'Content-Type': 'application/json; charset=utf-8', ...headers },
    body: `${JSON.stringify(body)}\n`,
  };
}

/** What is the same for everybody, and changes with the software alone. */
export function documentAnswer(body: object): OauthAnswer {
  return jsonAnswer(200, body, { 'Cache-Control': 'public, max-age=300', Pragma: '' });
}

/** A refusal to a client (RFC 6749, 5.2). */
export function refusalAnswer(
  refused: OauthError,
  headers: Readonly<Record<string, string>> = {},
): OauthAnswer {
  const { code, description } = refused;
  const body = { error: code, error_description: description };
  return { ...jsonAnswer(STATUSES[code] ?? 400, body, headers), refused };
}

/** The answer to anything thrown: what is no refusal is a failure of ours, and says nothing more. */
export function answerOfFailure(error: unknown): OauthAnswer {
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
export function redirect(location: string): OauthAnswer {
  return { status: 303, headers: { ...UNCACHED, Location: location }, body: '' };
}

/** The user comes back with a code (RFC 6749, 4.1.2). */
export function codeAnswer({ redirectUri, state, issuer: iss }: Return, code: string): OauthAnswer {
  return redirect(withParameters(redirectUri, { code, state, iss }));
}

/** The user comes back with a refusal (RFC 6749, 4.1.2.1). */
export function returnedRefusal(
  { redirectUri, state, issuer: iss }: Return,
  refused: OauthError,
): OauthAnswer {
  const { code: error, description: error_description } = refused;
  return { ...redirect(withParameters(redirectUri, { error, error_description, state, iss })), refused };
}

/** Writes an answer; false when the client is gone. */
export function writeOauthAnswer(response: Response, { status, headers, body }: OauthAnswer): boolean {
  if (response.headersSent || response.destroyed) return false;
  response.status(status);
  for (const [name, value] of Object.entries(headers)) if (value !== '') response.setHeader(name, value);
  response.end(body);
  return true;
}
