import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PageNotBuilt } from '../../../src/console-host/build-page.ts';
import { consoleHost } from '../../../src/console-host/console-host.ts';
import { SCREENS } from '../../../src/contract/console/screens.ts';
import type { HttpServer } from '../../../src/runtime/http-server/http-server.ts';
import { createJsonApp } from '../../../src/runtime/http-server/json-app.ts';
import { createSandboxApp } from '../../../src/sandbox/app.ts';
import { askPort as call } from '../../../test/support/ask-as.ts';
import { listen } from '../../../test/support/listen.ts';
import { silentLogger } from '../../../test/support/platform.ts';

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

describe('the console on the sandbox', () => {
  let server: HttpServer;
  let port: number;

  beforeAll(async () => {
    const app = createSandboxApp({
      handlers: {},
      logger: silentLogger,
      serviceUrl: () => 'http://127.0.0.1/api/v1',
      serverUrl: () => 'http://127.0.0.1/sandbox/v1',
    });
    server = await listen(app);
    ({ port } = server);
  });

  afterAll(() => server.drain(0));

  it.each(['/', '/deliveries', '/deliveries/42', '/calls?q=status%3A4*'])(
    'serves the page at %s without inline code, with a strict policy, uncached',
    async (path) => {
      const { status, headers, text } = await call(port, path);
      expect(status).toBe(200);
      expect(text).toContain('<div id="root"></div>');
      expect(text).not.toMatch(/<script(?![^>]* src=)|<style|style=|\son\w+=/);
      expect(headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': POLICY,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
        'x-frame-options': 'DENY',
        'cache-control': 'no-store',
      });
    },
  );

  it('serves every screen at its path and one segment below it', async () => {
    const addresses = SCREENS.flatMap(({ path }) => [path, `${path}/one`]);
    expect(addresses).toContain('/overview');
    const answers = await Promise.all(addresses.map((path) => call(port, path)));
    expect(answers.map(({ status }) => status)).toEqual(addresses.map(() => 200));
  });

  it('serves content-hashed files as immutable', async () => {
    const { text } = await call(port, '/');
    const paths = [...text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
    expect(paths.length).toBeGreaterThan(1);
    for (const path of paths) {
      const { status, headers } = await call(port, path);
      expect([path, status]).toEqual([path, 200]);
      expect(headers).toMatchObject({
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
        'content-security-policy': POLICY,
      });
    }
  });

  it('reports what it is connected to', async () => {
    const { status, headers, text } = await call(port, '/console.json');
    expect([status, headers['cache-control'], JSON.parse(text)]).toEqual([
      200,
      'no-store',
      { mode: 'sandbox', write: true, connector: false },
    ]);
  });

  it.each([
    '/sandbox/v1/nothing',
    '/sandbox/v1/deliveries',
    '/connector/v1/messages',
    '/api/v1/connections',
    '/assets/nothing.js',
    '/assets/../index.html',
    '/assets/%2e%2e/index.html',
  ])('answers %s with 404, not with the page', async (path) => {
    const { status, text } = await call(port, path, { headers: { accept: 'text/html' } });
    expect([status, JSON.parse(text).error]).toEqual([404, 'not_found']);
  });

  it.each(['/nope', '/deliveries/1/2', '/index.html'])(
    'answers %s with 404: a person with the page, a program with JSON',
    async (path) => {
      const person = await call(port, path, { headers: { accept: 'text/html,*/*;q=0.8' } });
      expect([person.status, person.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
      expect(person.headers['content-security-policy']).toBe(POLICY);
      expect(person.text).toContain('<div id="root"></div>');
      for (const accept of ['application/json', '*/*']) {
        const { status, text } = await call(port, path, { headers: { accept } });
        expect([status, JSON.parse(text).error]).toEqual([404, 'not_found']);
      }
      expect(
        (await call(port, path, { method: 'POST', headers: { accept: 'text/html' } })).headers[
          'content-type'
        ],
      ).toBe('application/json; charset=utf-8');
    },
  );

  it.each(['/', '/deliveries', '/console.json', '/assets/x.js', '/icon.svg'])(
    'refuses %s to pages of another origin and under a foreign host name',
    async (path) => {
      for (const headers of [
        { host: 'evil.example.com' },
        { host: `localhost.evil.example.com:${port}` },
        { origin: 'https://evil.example.com' },
        { 'sec-fetch-site': 'cross-site' },
      ]) {
        const { status, text } = await call(port, path, { headers });
        expect([status, JSON.parse(text).error]).toEqual([403, 'foreign_origin']);
      }
    },
  );

  it('allows only reads', async () => {
    for (const path of ['/', '/deliveries', '/console.json']) {
      const { status, headers } = await call(port, path, { method: 'POST' });
      expect([path, status, headers['allow']]).toEqual([path, 405, 'GET']);
    }
    expect((await call(port, '/', { method: 'HEAD' })).status).toBe(200);
  });
});

describe('a page whose build failed', () => {
  it('is replaced by the output of the build, as text', async () => {
    const app = createJsonApp().use(
      consoleHost({
        mode: () => ({ mode: 'sandbox', write: true, connector: false }),
        refuseMethod: (_request, response) => void response.sendStatus(405),
        ensure: () =>
          Promise.reject(
            new PageNotBuilt('The page is not built. Run `npm ci`.', '<b>main.tsx</b>:1 is wrong'),
          ),
      }),
    );
    const server = await listen(app);
    const { status, headers, text } = await call(server.port, '/');
    await server.drain(0);
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([
      503,
      'text/html; charset=utf-8',
      'no-store',
    ]);
    expect(text).toContain('<p>The page is not built. Run <code>npm ci</code>.</p>');
    expect(text).toContain('<code>&lt;b&gt;main.tsx&lt;/b&gt;:1 is wrong</code>');
    expect(headers['content-security-policy']).toContain("default-src 'none'");
  });
});
