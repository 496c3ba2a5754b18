import { join } from 'node:path';
import express, { type RequestHandler, type Router } from 'express';
import { type ConsoleMode, SCREENS } from '../contract/console/screens.ts';
import { routeMethods } from '../runtime/http-server/route-methods.ts';
import { OWN_FILES } from '../runtime/http-server/safe-headers.ts';
import { strictRouter } from '../runtime/http-server/strict-router.ts';
import { html, renderPage } from '../runtime/page/page.ts';
import { BUILT_PAGE, ensurePage, PageNotBuilt } from './build-page.ts';

export interface ConsoleHostOptions {
  readonly mode: () => ConsoleMode;
  /** The error for another method than GET. */
  readonly refuseMethod: RequestHandler;
  /** Ensures that the page is built. Default: builds it if its sources are newer. */
  readonly ensure?: () => Promise<void>;
}

/** Values cannot become code, either: the browser refuses texts where it would run them. */
const POLICY = `${OWN_FILES}; require-trusted-types-for 'script'`;

const HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': POLICY,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

/** The addresses of the page. Other addresses are passed on, so that a wrong call remains a 404. */
const PAGE = new RegExp(`^/(?:(?:${SCREENS.map(({ path }) => path.slice(1)).join('|')})(?:/[^/]*)?)?$`);

const withHeaders: RequestHandler = (_request, response, next) => {
  for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
  next();
};

/** A page that says why there is no page. */
function explain({ message, details }: PageNotBuilt): ReturnType<typeof renderPage> {
  const [first = '', command = ''] = message.split('`');
  return renderPage({
    title: 'Console',
    owner: 'Console',
    heading: html`The page is not there`,
    content: html`<p>${first}${command === '' ? html`` : html`<code>${command}</code>.`}</p>${details
      .split('\n')
      .map((line) => html`<p><code>${line}</code></p>`)}`,
  });
}

/** Serves the document of the page, or says why there is none. */
function serveDocument(status: number, ensure: () => Promise<void>): RequestHandler {
  return async (request, response) => {
    try {
      await ensure();
    } catch (error) {
      if (!(error instanceof PageNotBuilt)) throw error;
      const { html: text, headers } = explain(error);
      response.status(503).set(headers).send(text);
      return;
    }
    withHeaders(request, response, () => undefined);
    response.status(status).setHeader('Cache-Control', 'no-store');
    response.sendFile('index.html', { root: BUILT_PAGE, cacheControl: false, lastModified: false });
  };
}

/** Addresses that programs call: their answers are JSON, whoever calls. */
const OF_PROGRAMS = /^\/(?:api|assets|connector|sandbox|service)\//;

/** Tells a person who follows a wrong address so, by the page. Other requests are passed on. */
export const strayPage: RequestHandler = (request, response, next) => {
  const isPerson = request.method === 'GET' && request.accepts(['json', 'html']) === 'html';
  if (!isPerson || OF_PROGRAMS.test(request.path)) return next();
  return serveDocument(404, ensurePage)(request, response, next);
};

/** Serves the page: its document at each of its addresses, its files, and `/console.json`. */
export function consoleHost({ mode, refuseMethod, ensure = ensurePage }: ConsoleHostOptions): Router {
  const router = strictRouter();
  const get = (path: string | RegExp, handle: RequestHandler): void =>
    routeMethods(router, path, { GET: handle }, { refuse: refuseMethod, headIsGet: true });

  get('/console.json', (_request, response) => {
    response.setHeader('Cache-Control', 'no-store');
    response.json(mode());
  });
  get(PAGE, serveDocument(200, ensure));
  // Their names contain a hash of what is in them.
  router.use(
    '/assets',
    withHeaders,
    express.static(join(BUILT_PAGE, 'assets'), {
      immutable: true,
      maxAge: '1y',
      index: false,
      redirect: false,
    }),
  );
  get('/icon.svg', (request, response) => {
    withHeaders(request, response, () => undefined);
    response.sendFile('icon.svg', { root: BUILT_PAGE, maxAge: '1h' });
  });
  return router;
}
