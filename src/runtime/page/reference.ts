import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RequestHandler, Router } from 'express';
import { OWN_FILES } from '../http-server/safe-headers.ts';
import { strictRouter } from '../http-server/strict-router.ts';
import { html, renderPage } from './page.ts';

/** An OpenAPI document that the pages show. */
export interface ReferenceDocument {
  /** The last segment of its page: `/docs/{name}`. The first document is also at `/docs`. */
  readonly name: string;
  readonly title: string;
  /** Path of the document on this server. */
  readonly path: string;
  /** Path on this server that calls from the page go to, in place of the server that the document names. */
  readonly calls?: string;
}

const STYLE = `body { margin: 0; font-family: system-ui, sans-serif; }
nav { display: flex; gap: 24px; padding: 12px 24px; border-bottom: 1px solid #d8dde3; }
nav a { color: #31465b; text-decoration: none; }
nav a[aria-current] { font-weight: 600; }
.swagger-ui .scheme-container { box-shadow: none; margin: 0; padding: 12px 0; }
`;

/** The library takes no settings from markup, and inline code is not allowed. */
const SCRIPT = `const { path, calls } = document.getElementById('reference').dataset;
const absolute = (url) => new URL(url, location.origin).href;
let server = '/';
SwaggerUIBundle({
  dom_id: '#reference',
  url: path,
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  docExpansion: 'list',
  responseInterceptor(response) {
    if (absolute(response.url) === absolute(path)) server = JSON.parse(response.text).servers[0].url;
    return response;
  },
  requestInterceptor(request) {
    const rest = absolute(request.url).slice(absolute(server).replace(/\\/$/, '').length);
    if (calls && !request.loadSpec) request.url = absolute(calls + rest);
    return request;
  },
});
`;

/** Where the files of the library are: in a package beside the compiled code, in a checkout where npm put them. */
function findFiles(): string | null {
  const packed = fileURLToPath(new URL('../../swagger-ui', import.meta.url));
  if (existsSync(packed)) return packed;
  try {
    return dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/swagger-ui-bundle.js'));
  } catch {
    return null;
  }
}

/** A page in place of one whose library is not installed. */
function explain({ title, path }: ReferenceDocument): ReturnType<typeof renderPage> {
  return renderPage({
    title,
    owner: title,
    heading: html`The rendered page is not installed`,
    content: html`<p>It needs a development package, which <code>npm ci --omit=dev</code> leaves out. The document itself is at <a href="${path}">${path}</a>.</p>`,
  });
}

function renderReference(shown: ReferenceDocument, all: readonly ReferenceDocument[]): string {
  const links = all.map(({ name, title }) =>
    name === shown.name
      ? html`<a href="/docs/${name}" aria-current="page">${title}</a>`
      : html`<a href="/docs/${name}">${title}</a>`,
  );
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${shown.title}: API reference</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="stylesheet" href="/docs/page.css">
</head>
<body>
${all.length === 1 ? html`` : html`<nav aria-label="Documents">${links}</nav>`}
<main id="reference" data-path="${shown.path}" data-calls="${shown.calls ?? ''}"></main>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/page.js"></script>
</body>
</html>
`.text;
}

/**
 * `GET /docs`: OpenAPI documents of this server as pages, from files of this server alone. Their calls are sent to this
 * server and need the same credentials as any other call. `files` is the folder of the library; null if it is missing.
 */
export function routeReference(
  documents: () => readonly [ReferenceDocument, ...ReferenceDocument[]],
  files = findFiles(),
): Router {
  const router = strictRouter();
  const show: RequestHandler<{ name?: string }> = (request, response, next) => {
    const all = documents();
    const { name = all[0].name } = request.params;
    const shown = all.find((document) => document.name === name);
    if (shown === undefined) return next();
    if (files === null) {
      const page = explain(shown);
      response.status(404).set(page.headers).send(page.html);
    } else {
      response.set({ 'Content-Security-Policy': OWN_FILES, 'Cache-Control': 'no-cache' });
      response.type('html').send(renderReference(shown, all));
    }
  };
  router.get('/docs', show);
  router.get('/docs/page.css', (_request, response) => void response.type('css').send(STYLE));
  router.get('/docs/page.js', (_request, response) => void response.type('js').send(SCRIPT));
  for (const file of files === null ? [] : ['swagger-ui.css', 'swagger-ui-bundle.js']) {
    router.get(`/docs/${file}`, (_request, response) => {
      response.setHeader('Cache-Control', 'no-cache');
      response.sendFile(join(files ?? '', file));
    });
  }
  router.get('/docs/:name', show);
  return router;
}
