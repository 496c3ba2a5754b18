import type { Request, Response, Router } from 'express';
import { strictRouter } from '../../runtime/http-server/strict-router.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { Audit } from '../audit.ts';
import { type CallbackPage, PAGE_HEADERS, pageOf, UNAVAILABLE } from './callback-page.ts';
import type { ConsentEnd, Consents } from './consents.ts';
import { CALLBACK_PATH } from './oauth-app.ts';

/** What is told to those who ask for the head alone. */
const NOTHING = pageOf({ end: { kind: 'unknown' }, returnUrl: null });

/**
 * Serves `GET /oauth/callback`, where the customer's browser comes back. The `state` guards it, so it takes no token.
 * The query holds a code: it is neither logged nor shown.
 */
export function routeCallback(
  consents: Consents,
  { logger, audit }: { readonly logger: Logger; readonly audit: Audit },
): Router {
  const router = strictRouter();
  router.get(CALLBACK_PATH, async (request: Request, response: Response) => {
    // A scanner that asks for the head first must not use the link up.
    const page = request.method === 'HEAD' ? NOTHING : await finish(consents, request, { logger, audit });
    response.status(page.status).set(PAGE_HEADERS).send(page.html);
  });
  return router;
}

async function finish(
  consents: Consents,
  request: Request,
  { logger, audit }: { readonly logger: Logger; readonly audit: Audit },
): Promise<CallbackPage> {
  try {
    const [, ...query] = request.originalUrl.split('?');
    const finished = await consents.finish(new URLSearchParams(query.join('?')));
    noteEnd(audit, finished.end);
    return pageOf(finished);
  } catch (err) {
    logger.error({ err }, 'a consent could not be finished');
    return UNAVAILABLE;
  }
}

function noteEnd(audit: Audit, end: ConsentEnd): void {
  if (end.kind === 'connected') {
    // A reload of the page connects nothing.
    if (!end.again) audit.note('consent.finished', { id: end.accountId, result: 'ok' });
    return;
  }
  audit.note('consent.refused', { result: end.kind === 'failed' ? end.code : end.kind });
}
