import type { Request, Response, Router } from 'express';
import { clientAddress } from '../../runtime/http-server/connections.ts';
import { strictRouter } from '../../runtime/http-server/strict-router.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { Audit } from '../audit/audit.ts';
import { createBrowserCookies } from './browser-cookies.ts';
import { type ConsentPage, createConsentPages } from './consent-pages.ts';
import type { Consents, FinishedConsent, OpenedConsent } from './consents.ts';
import { CALLBACK_PATH, type OauthApp, START_PATH } from './oauth-app.ts';

export interface ConsentRouterOptions {
  readonly app: OauthApp;
  readonly consents: Consents;
  readonly logger: Logger;
  readonly audit: Audit;
}

/** What a redirect to the service may leave behind: nothing. */
const REDIRECT_HEADERS = { 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' } as const;

/**
 * Serves `/oauth/start/{token}`, where the customer's browser begins a consent, and `GET /oauth/callback`, where it
 * comes back. They take no token of the API: the start token and the `state` guard them, and the cookie of the consent.
 * The addresses hold secrets: they are neither logged nor shown.
 *
 * The start address is opened by others than its customer: by chat programs and mail scanners, which look at each link,
 * and by people to whom it was forwarded. So a GET or HEAD binds nothing, however often and from wherever it comes. It
 * answers a page that says to whose account the numbers go, and whose form gives the consent to the browser that sends
 * it. That needs the page's own cookie, which no page of another site can have sent (`SameSite=Lax`), so nobody is taken
 * past the page. From then on the consent is that browser's alone: it may load the address again, and all others are told
 * that it was started elsewhere. Who meets that page by mistake starts again at the CRM, which costs nothing; a button
 * that takes over would be what a thief asks his victim to press.
 */
export function routeConsents({ app, consents, logger, audit }: ConsentRouterOptions): Router {
  const router = strictRouter();
  const cookies = createBrowserCookies(app.publicUrl);
  const pages = createConsentPages(app);

  /** Serves a visit with whatever it brings about; what fails is a page, too. */
  const visit =
    (what: string, answer: (request: Request, response: Response) => Promise<ConsentPage | null>) =>
    async (request: Request, response: Response): Promise<void> => {
      const page = await answer(request, response).catch((err: unknown) => {
        logger.error({ err, what }, 'a consent could not go on');
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
      // A scanner that asks for the head first must not use the link up.
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

/** A page of a neighbouring host has the cookie sent as well; browsers that tell where a form stands give it away. */
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
    // A reload of the page connects nothing.
    if (!end.again) audit.note('consent.finished', { ...about, id: end.accountId, result: 'ok' });
    return;
  }
  const result = end.kind === 'failed' ? end.code : end.kind;
  audit.note('consent.refused', { ...about, id: accountId ?? undefined, result });
}
