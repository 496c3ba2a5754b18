import { once } from 'node:events';
import { request as openRequest } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { within } from '../../src/runtime/clock/deadline.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import type { WatchForward } from '../../src/runtime/http-server/forward.ts';
import type { HttpServer } from '../../src/runtime/http-server/http-server.ts';
import { createSandboxApp } from '../../src/sandbox/app.ts';
import { askPort, type RawCall } from '../support/ask-as.ts';
import { listen } from '../support/listen.ts';
import { silentLogger } from '../support/platform.ts';
import { exchangeRaw } from '../support/raw-exchange.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';

const TOKEN = 'token-of-the-connector';

describe('the proxy at /connector on the sandbox', () => {
  let connector: Receiver;
  let target: string;
  /** The bodies of each write and its response, as a recorder receives them. */
  let watched: [string | null, string | null][];
  let server: HttpServer;

  beforeEach(async () => {
    connector = await startReceiver();
    target = connector.origin;
    watched = [];
    const watch: WatchForward = () => (body, answer) => watched.push([body, answer]);
    const app = createSandboxApp({
      handlers: {},
      logger: silentLogger,
      serviceUrl: () => 'http://127.0.0.1/api/v1',
      serverUrl: () => 'http://127.0.0.1/sandbox/v1',
      connector: () => ({ url: target, token: TOKEN }),
      watchForward: { connector: watch, service: watch },
    });
    server = await listen(app);
  });

  afterEach(async () => {
    await server.drain(0);
    await connector.close();
  });

  const call = (path: string, options?: RawCall) => askPort(server.port, path, options);

  it('forwards a call with the token of the connector, whatever credential the caller sent', async () => {
    connector.script({ status: 202, headers: { 'X-Kept': 'yes' }, body: '{"ok":true}' });

    const answer = await call('/connector/v1/sync?accountId=a%2Fb', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer stolen', cookie: 'a=b' },
      body: '{"one":1}',
    });

    expect(answer).toMatchObject({ status: 202, text: '{"ok":true}' });
    expect(answer.headers['x-kept']).toBe('yes');
    const [request] = connector.requests;
    expect(request).toMatchObject({ method: 'POST', path: '/v1/sync?accountId=a%2Fb' });
    expect(request?.body.toString()).toBe('{"one":1}');
    expect(request?.headers['authorization']).toEqual([`Bearer ${TOKEN}`]);
    expect(request?.headers['cookie']).toBeUndefined();
  });

  it.each([
    (origin: string) => `/connector/${origin.replace('http:', '')}/v1/messages`,
    (origin: string) => `/connector/${origin}/v1/messages`,
    (origin: string) => `/connector/\\\\${origin.replace('http://', '')}/v1/messages`,
  ])('never sends the token to another host (%#)', async (path) => {
    const elsewhere = await startReceiver();
    try {
      await call(path(elsewhere.origin));

      expect(elsewhere.requests).toEqual([]);
      expect(connector.requests).toHaveLength(1);
    } finally {
      await elsewhere.close();
    }
  });

  it.each(['/../admin', '/v1/%2e%2E/../admin', '/v1/.', '/v1/..?x=1', '/\\..\\admin', '/./v1'])(
    'refuses the path %s, which a server may resolve to one outside the API',
    async (path) => {
      const { status, text } = await call(`/connector${path}`);

      expect([status, JSON.parse(text).error]).toEqual([400, 'invalid_request']);
      expect(connector.requests).toEqual([]);
    },
  );

  it('forwards dots that are not a segment of their own', async () => {
    await call('/connector/v1/a..b/...?path=/../x');
    expect(connector.requests).toMatchObject([{ path: '/v1/a..b/...?path=/../x' }]);
  });

  it('forwards no address that the caller claims to have', async () => {
    await call('/connector/v1/messages', {
      headers: {
        'x-forwarded-for': '192.0.2.1',
        'x-forwarded-host': 'evil.example.com',
        forwarded: 'for=192.0.2.1',
        'x-real-ip': '192.0.2.1',
        referer: `http://127.0.0.1:${server.port}/?q=private`,
        'x-kept': 'yes',
      },
    });
    const { headers } = connector.requests[0] ?? {};
    expect(Object.keys(headers ?? {}).toSorted()).toEqual(['authorization', 'connection', 'host', 'x-kept']);
  });

  it.each(['GET', 'DELETE', 'OPTIONS', 'POST', 'PATCH'])(
    'keeps the body of a chunked %s in its request, so that it cannot be another request',
    async (method) => {
      const hidden = 'DELETE /v1/accounts/a HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n';
      const head = [
        `${method} /connector/v1/messages HTTP/1.1`,
        'Host: 127.0.0.1',
        'Content-Type: application/json',
        'Transfer-Encoding: chunked',
        'Expect: 100-continue',
        'Connection: close',
      ];
      const chunked = `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`;
      const { statuses } = await exchangeRaw(server.port, `${head.join('\r\n')}\r\n\r\n${chunked}`);

      expect(statuses.at(-1)).toBe(200);
      expect(connector.requests).toMatchObject([{ method, path: '/v1/messages' }]);
      expect(connector.requests[0]?.body.toString()).toBe(hidden);
    },
  );

  it.each(['text/plain', 'application/x-www-form-urlencoded'])(
    'does not accept %s for a write, because a page of any site could send it',
    async (type) => {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
        const { status, text } = await call('/connector/v1/sync', {
          method,
          headers: { 'content-type': type, 'content-length': '2' },
          body: '{}',
        });
        expect([status, JSON.parse(text).error]).toEqual([415, 'unsupported_media_type']);
      }
      expect((await call('/connector/v1/sync', { method: 'POST', body: '{}' })).status).toBe(415);
      expect(connector.requests).toEqual([]);
    },
  );

  it('answers only to the names of this machine, and to no page of another origin', async () => {
    for (const headers of [
      { host: 'evil.example.com' },
      { host: `localhost.evil.example.com:${server.port}` },
      { origin: 'https://evil.example.com' },
      { 'sec-fetch-site': 'cross-site' },
    ]) {
      const { status, text } = await call('/connector/v1/messages', { headers });
      expect([status, JSON.parse(text).error]).toEqual([403, 'foreign_origin']);
    }
    expect(connector.requests).toEqual([]);
  });

  it('keeps a body of 1 MiB for who watches, and forwards a longer one without keeping it', async () => {
    const longest = 'x'.repeat(1_048_576);
    const headers = { 'content-type': 'application/json' };
    for (const [body, answer] of [
      [longest, longest],
      [`${longest}x`, 'short'],
      ['short', `${longest}x`],
    ] as const) {
      connector.script({ status: 200, body: answer });
      const { text } = await call('/connector/v1/sync', { method: 'POST', headers, body });
      expect([text.length, connector.requests.at(-1)?.body.length]).toEqual([answer.length, body.length]);
    }
    expect(watched.map((bodies) => bodies.map((body) => body?.length ?? null))).toEqual([
      [1_048_576, 1_048_576],
      [null, 5],
      [5, null],
    ]);
  });

  it('does not forward hop-by-hop headers', async () => {
    connector.script({ status: 200, headers: { Connection: 'close', 'Keep-Alive': 'timeout=1' }, body: 'x' });
    const { headers } = await call('/connector/healthz', { headers: { connection: 'keep-alive' } });
    expect(headers['connection']).toBe('keep-alive');
    expect(headers['keep-alive']).not.toBe('timeout=1');
  });

  it('aborts the call when the caller disconnects', async () => {
    const left = Promise.withResolvers<void>();
    const stream = await listen((request, response) => {
      request.once('close', () => left.resolve());
      response.writeHead(200).write('data: 1\n\n');
    });
    target = stream.url;

    const outgoing = openRequest(`${server.url}/connector/v1/changes/stream`).end();
    const [answer] = await once(outgoing, 'response');
    const [first] = await once(answer, 'data');
    outgoing.destroy();
    await within(systemClock, 5_000, left.promise);

    expect(String(first)).toBe('data: 1\n\n');
    await stream.drain(0);
  });

  it('breaks an answer off where the connector does', async () => {
    const broken = await listen((_, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('the beginning', () => response.destroy());
    });
    target = broken.url;
    await expect(within(systemClock, 5_000, call('/connector/v1/messages'))).rejects.toThrow('aborted');
    await broken.drain(0);
  });

  it('reports that the connector does not answer', async () => {
    await connector.close();
    const { status, text } = await call('/connector/v1/messages');
    expect(status).toBe(502);
    expect(JSON.parse(text)).toMatchObject({ error: 'connector_unreachable' });
  });
});
