import { randomBytes } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import type { Clock } from '../runtime/clock/clock.ts';
import { readCookies } from '../runtime/http-server/read-cookies.ts';
import { html, renderPage } from '../runtime/page/page.ts';
import { equalSecrets } from '../runtime/sealing/equal-secrets.ts';

/** How long the token of a printed URL is valid. */
const TOKEN_MS = 10 * 60 * 1_000;
const PARAMETER = 'token';

export interface ConsoleDoorOptions {
  /** The address of this server. */
  readonly ownUrl: () => string;
  readonly clock: Pick<Clock, 'elapsed'>;
  /** Prints a new URL for a person who opened the console without a valid one. */
  readonly announce: (url: string) => void;
}

const newSecret = (): string => randomBytes(32).toString('base64url');

const REFUSAL = {
  error: 'session_required',
  message: 'Open the last URL that the console command has printed in its terminal.',
};

const PAGE = renderPage({
  title: 'Console',
  owner: 'Console',
  heading: html`Open the URL from the terminal`,
  content: html`<p>This console shows the messages of all customers, so it opens only with the URL that <code>npm run console</code> prints in its terminal.</p>
<p>Each URL opens one browser, once, within ten minutes. This browser has none, or it was used or is too old, or the command has been started again since. Use the last URL in the terminal.</p>`,
});

function refuse(response: Response, asPage: boolean): void {
  // The scheme is not registered; a 401 must name one (RFC 9110, 15.5.2).
  response.status(401).set({ 'WWW-Authenticate': 'Cookie', 'Cache-Control': 'no-store' });
  if (asPage) response.set(PAGE.headers).send(PAGE.html);
  else response.json(REFUSAL);
}

export type ConsoleDoor = ReturnType<typeof createConsoleDoor>;

/**
 * Admits browsers of those who can read what the command prints: any user of the machine can reach the port. The
 * cookie lasts as long as this process and the session of the browser. Its name contains the port, because the ports
 * of a host share their cookies.
 */
export function createConsoleDoor({ ownUrl, clock, announce }: ConsoleDoorOptions) {
  const session = newSecret();
  let open: { readonly token: string; readonly until: number } | undefined;

  const validToken = (): string | undefined =>
    open !== undefined && clock.elapsed() < open.until ? open.token : undefined;

  /** A URL that admits one browser, once, within ten minutes. It replaces the one before. */
  const issueUrl = (): string => {
    open = { token: newSecret(), until: clock.elapsed() + TOKEN_MS };
    return `${ownUrl()}/?${PARAMETER}=${open.token}`;
  };

  const cookieName = (): string => `console-${new URL(ownUrl()).port}`;

  const isAdmitted = ({ headers }: Request): boolean =>
    equalSecrets(readCookies(headers.cookie).get(cookieName()) ?? '', session);

  const redeem = (given: string): boolean => {
    const token = validToken();
    if (token === undefined || !equalSecrets(given, token)) return false;
    open = undefined;
    return true;
  };

  /** Exchanges the token of a URL for a cookie, and answers every request without one with 401. */
  const admit: RequestHandler = (request, response, next) => {
    const given = request.method === 'GET' && request.path === '/' ? request.query[PARAMETER] : undefined;
    const redeemed = typeof given === 'string' && redeem(given);
    if (redeemed) response.set('Set-Cookie', `${cookieName()}=${session}; Path=/; HttpOnly; SameSite=Strict`);
    if (!redeemed && !isAdmitted(request)) {
      const asPage = request.method === 'GET' && request.accepts(['json', 'html']) === 'html';
      if (asPage && validToken() === undefined) announce(issueUrl());
      refuse(response, asPage);
    } else if (given === undefined) next();
    // The token leaves the address bar and the history.
    else response.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' }).redirect(303, '/');
  };

  return { issueUrl, admit };
}
