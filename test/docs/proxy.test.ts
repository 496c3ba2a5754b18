import { once } from 'node:events';
import { request } from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import type { HttpServer } from '../../src/runtime/http-server/http-server.ts';
import { HAPROXY_MISSING, startTestProxy, type TestProxy } from '../support/haproxy.ts';
import { listen } from '../support/listen.ts';
import { exchangeRaw } from '../support/raw-exchange.ts';
import { TEST_CERTIFICATE } from '../support/tls-certificate.ts';

/** The server behind the proxy: it answers every request, some with an error. */
const asked: string[] = [];
const webs: HttpServer[] = [];
let proxy: TestProxy;

describe.skipIf(HAPROXY_MISSING !== undefined)(
  `examples/haproxy/haproxy.cfg${HAPROXY_MISSING === undefined ? '' : ` (${HAPROXY_MISSING})`}`,
  () => {
    beforeAll(async () => {
      for (let count = 0; count < 2; count += 1) {
        const web = await listen(({ url = '', method }, response) => {
          if (method === 'GET' && url === '/readyz') return void response.end();
          asked.push(url);
          if (url.endsWith('-hangs') && asked.indexOf(url) === asked.length - 1) return;
          response.writeHead(url.includes('fail') ? 500 : 200).end();
        });
        webs.push(web);
      }
      proxy = await startTestProxy(webs.map(({ url }) => url));
    });
    afterAll(async () => {
      await proxy.stop();
      await Promise.all(webs.map((web) => web.drain(0)));
    });

    const ask = (line: string, ...headers: readonly string[]) =>
      exchangeRaw(
        Number(new URL(proxy.url).port),
        `${[`${line} HTTP/1.1`, 'Host: crm.example', ...headers, 'Connection: close'].join('\r\n')}\r\n\r\n`,
      );

    it.each([
      '/metrics',
      '/METRICS',
      '/metrics/',
      '//metrics',
      '/%6detrics',
      '/metrics?x=/v1/',
      '/v1/../metrics',
      '/v1/./../metrics',
      '/v1/%2e%2e/metrics',
      '/v1/%2E./metrics',
      '/webhooks/messaging/../../metrics',
      '/webhooks/messaging/..',
      '/oauth/start/../../metrics',
      '/readyz',
      '/readyz/',
      '/Readyz',
      '/healthz',
      '/v1',
      '/V1/messages',
      '/webhooks/messagingx',
      '/oauth/callback/',
      '/',
      'http://crm.example/metrics',
      'http://crm.example/v1/../metrics',
    ])('does not forward %s', async (path) => {
      const before = asked.length;
      for (const method of ['GET', 'POST', 'HEAD']) {
        const { statuses, received } = await ask(`${method} ${path}`, 'Content-Length: 0');
        expect([method, statuses]).toEqual([method, [404]]);
        expect(received).toMatch(/^x-content-type-options: nosniff\r$/im);
      }
      expect(asked.slice(before)).toEqual([]);
    });

    it.each([
      '/webhooks/messaging',
      '/webhooks/messaging/app-1',
      '/v1/messages',
      '/v1/messages/wamid.a..b%2Fc/media',
      '/v1/changes?after=0',
      '/oauth/callback?code=x&state=y',
      '/oauth/start/abc',
    ])('forwards %s unchanged', async (path) => {
      const before = asked.length;
      const { statuses, received } = await ask(`GET ${path}`);
      expect(statuses).toEqual([200]);
      expect(asked.slice(before)).toEqual([path]);
      expect(received.match(/^x-content-type-options: nosniff\r$/gim)).toHaveLength(1);
      expect(received).not.toMatch(/strict-transport-security/i);
    });

    it('asks the other web process if one hangs, before the sender gives up after 10 s', async () => {
      const before = systemClock.elapsed();
      expect((await ask('POST /webhooks/messaging/one-hangs', 'Content-Length: 0')).statuses).toEqual([200]);
      expect(systemClock.elapsed() - before).toBeLessThan(10_000);
    });

    it('logs failures without the query, and without the path of a consent', async () => {
      await ask('GET /v1/messages?peer=447700900999&fail');
      await ask('GET /oauth/callback?code=mca_secret&state=secret&fail');
      await ask('GET /oauth/start/secret-fail?x=secret');
      await ask('GET /webhooks/messaging/447700900999-fail');
      await expect.poll(() => proxy.log()).toContain('447700900999-fail');
      const lines = proxy.log().split('\n');
      const failures = lines.filter((line) => line.includes(' 500 '));
      expect(failures.map((line) => line.slice(line.indexOf('"')))).toEqual([
        '"GET /v1/messages"',
        '"GET /oauth/callback"',
        '"GET /oauth/start/"',
        '"GET /webhooks/messaging/447700900999-fail"',
      ]);
      expect(failures[0]).toMatch(/^127\.0\.0\.1:\d+ \[.+\] public api\/web-\d /);
      expect(proxy.log()).not.toContain('secret');
      expect(proxy.log()).not.toContain('peer');
    });

    it('sends Strict-Transport-Security if it terminates TLS, also in its own answers', async () => {
      const secure = await startTestProxy(
        webs.map(({ url }) => url),
        TEST_CERTIFICATE,
      );
      for (const [path, status] of [
        ['/v1/messages', 200],
        ['/metrics', 404],
      ] as const) {
        const call = request(`${secure.url}${path}`, { rejectUnauthorized: false }).end();
        const [answer] = await once(call, 'response');
        answer.resume();
        expect([path, answer.statusCode]).toEqual([path, status]);
        expect(answer.headers['strict-transport-security']).toBe('max-age=31536000');
        call.destroy();
      }
      await secure.stop();
    });
  },
);
