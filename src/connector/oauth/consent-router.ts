import { randomBytes } from 'node:crypto';
import type { Request, Response, Router } from 'express';
import { clientAddress } from '../../runtime/http-server/connections.ts';
import { readCookies } from '../../runtime/http-server/read-cookies.ts';
import { strictRouter } from '../../runtime/http-server/strict-router.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { Audit } from '../audit/audit.ts';
import { type ConsentPage, createConsentPages } from './consent-pages.ts';
import type { Consents, FinishedConsent, OpenedConsent } from './consents.ts';
import { CALLBACK_PATH, type OauthApp, START_PATH } from './oauth-app.ts';

/**
 * Number of consents that one browser may have open. Beyond it, the oldest loses its cookie. Each takes about
 * 100 bytes.
 */
const MAX_OPEN = 10;
const SECRET = /^[\w-]{43}$/;
/** Enough characters of a hash to distinguish the consents of one browser. */
const NAME_CHARACTERS = 22;

/**
 * The cookies that bind consents to browsers: one for each consent, so that a browser can have several. On https their
 * names begin with `__Host-`: only this host can set them, and they are never sent over plain http. Plain http is
 * possible only on this machine. A browser may refuse `Secure` there (Safari does), and with it the prefix, so both are
 * omitted; then other programs on this machine, at any port of the same host, can read and set the cookie.
 */
function createBrowserCookies(publicUrl: string) {
  const isSecure = new URL(publicUrl).protocol === 'https:';
  const prefix = `${isSecure ? '__Host-' : ''}messaging-consent-`;
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  const nameOf = (flowId: string): string => `${prefix}${flowId.slice(0, NAME_CHARACTERS)}`;

  return {
    /** The secret that the browser has for a consent; null if it has none. */
    read(request: Request, flowId: string): string | null {
      const secret = readCookies(request.headers.cookie).get(nameOf(flowId));
      return secret !== undefined && SECRET.test(secret) ? secret : null;
    },
    /**
     * A new secret for a consent, and the `Set-Cookie` lines that store it in the browser until the consent
     * expires.
     */
    issue(request: Request, { id, lifetimeMs }: { readonly id: string; readonly lifetimeMs: number }) {
      const secret = randomBytes(32).toString('base64url');
      const others = [...readCookies(request.headers.cookie).keys()].filter(
        (name) => name.startsWith(prefix) && name !== nameOf(id),
      );
      const dropped = others.slice(0, Math.max(0, others.length - MAX_OPEN + 1));
      const seconds = Math.ceil(lifetimeMs / 1_000);
      return {
        secret,
        lines: [
          ...dropped.map((name) => `${name}=; Max-Age=0; ${attributes}`),
          `${nameOf(id)}=${secret}; Max-Age=${seconds}; ${attributes}`,
        ],
      };
    },
  };
}

export interface ConsentRouterOptions {
  readonly app: OauthApp;
  readonly consents: Consents;
  readonly logger: Logger;
  readonly audit: Audit;
}

/** A redirect to the service must not send its own address as the referrer. */
const REDIRECT_HEADERS = { 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' } as const;

/**
 * Serves `/oauth/start/{token}`, where the customer's browser starts a consent, and `GET /oauth/callback`, to
 * which it returns. Neither takes a token of the API: they are protected by the start token, the `state` and
 * the cookie of the consent. The addresses contain secrets, so they are neither logged nor shown.
 *
 * Not only the customer opens the start address: chat programs and mail scanners open every link, and people
 * forward it. So a GET or HEAD request changes nothing. It returns a page that names the account and has a
 * form; submitting the form binds the consent to that browser. The form requires the cookie of the page, which
 * a page of another site cannot send (`SameSite=Lax`), so a customer cannot be led past the page. From then on,
 * only this browser can continue. It may load the address again; all others see that the consent was started
 * elsewhere. A customer who sees that by mistake starts again at the CRM. There is no button to take a consent
 * over, because an attacker could ask the victim to press it.
 */
export function routeConsents({ app, consents, logger, audit }: ConsentRouterOptions): Router {
  const router = strictRouter();
  const cookies = createBrowserCookies(app.publicUrl);
  const pages = createConsentPages(app);

  /** Serves a visit and its effect; a failure is also shown as a page. */
  const visit =
    (what: string, answer: (request: Request, response: Response) => Promise<ConsentPage | null>) =>
    async (request: Request, response: Response): Promise<void> => {
      const page = await answer(request, response).catch((err: unknown) => {
        logger.error({ err, what }, 'a consent could not be continued');
        return pages.unavailable;
      });
      if (page !== null) response.status(page.status).set(page.headers).send(page.html);
    };

  function end(request: Request, what: string, finished: FinishedConsent): ConsentPage {
    noteEnd(audit, finished, { what, address: clientAddress(request) });
    return pages.end(finished);
  }

  function answerOpened(
    request: Request,
    response: Response,
    opened: OpenedConsent,
    cookieMissing: boolean,
  ): ConsentPage | null {
    if (opened.kind === 'go_on') {
      response.status(303).set(REDIRECT_HEADERS).set('Location', opened.authorizationUrl).end();
      return null;
    }
    if (opened.kind === 'closed') return end(request, `${request.method} ${START_PATH}`, opened.finished);
    const { flow, lifetimeMs } = opened;
    if (cookies.read(request, flow.id) === null) {
      response.append('Set-Cookie', [...cookies.issue(request, { id: flow.id, lifetimeMs }).lines]);
    }
    return pages.ask(flow, cookieMissing);
  }

  router.get(
    `${START_PATH}/:token`,
    visit('start', async (request, response) => {
      if (request.method === 'HEAD') return pages.head;
      const secretOf = (flowId: string): string | null => cookies.read(request, flowId);
      return answerOpened(request, response, await consents.open(tokenOf(request), secretOf), false);
    }),
  );
  router.post(
    `${START_PATH}/:token`,
    visit('start', async (request, response) => {
      const isOwnForm = isFromOwnPage(request);
      const secretOf = (flowId: string): string | null => (isOwnForm ? cookies.read(request, flowId) : null);
      return answerOpened(request, response, await consents.goOn(tokenOf(request), secretOf), true);
    }),
  );
  router.get(
    CALLBACK_PATH,
    visit('callback', async (request) => {
      // A scanner that sends a HEAD request first must not use up the link.
      if (request.method === 'HEAD') return pages.head;
      const [, ...query] = request.originalUrl.split('?');
      const returned = new URLSearchParams(query.join('?'));
      const finished = await consents.finish(returned, (flowId) => cookies.read(request, flowId));
      return end(request, `GET ${CALLBACK_PATH}`, finished);
    }),
  );
  return router;
}

function tokenOf(request: Request): string {
  return String(request.params['token']);
}

/**
 * The cookie is also sent by a page of a sibling host. Browsers report the origin of a form, which reveals
 * that.
 */
function isFromOwnPage(request: Request): boolean {
  const site = request.get('sec-fetch-site');
  return site === undefined || site === 'same-origin' || site === 'none';
}

function noteEnd(
  audit: Audit,
  { end, accountId, reference }: FinishedConsent,
  from: { readonly what: string; readonly address: string },
): void {
  const about = { ...from, reference: reference ?? undefined };
  if (end.kind === 'connected') {
    // Reloading the page connects nothing.
    if (!end.again) audit.note('consent.finished', { ...about, id: end.accountId, result: 'ok' });
    return;
  }
  const result = end.kind === 'failed' ? end.code : end.kind;
  audit.note('consent.refused', { ...about, id: accountId ?? undefined, result });
}
