import { once } from 'node:events';
import { createServer, request as openRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSandboxApp } from '../../src/sandbox/app.ts';
import { silentLogger } from '../support/platform.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';

const TOKEN = 'token-of-the-connector';

describe('/connector on the sandbox', () => {
  let connector: Receiver;
  let target: string;
  let server: Server;
  let port: number;

  beforeEach(async () => {
    connector = await startReceiver();
    target = connector.origin;
    const app = createSandboxApp({
      handlers: {},
      logger: silentLogger,
      serverUrl: () => 'http://127.0.0.1/sandbox/v1',
      connector: () => ({ url: target, token: TOKEN }),
    });
    server = createServer(app).listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  });

  afterEach(async () => {
    server.close();
    server.closeAllConnections();
    await connector.close();
  });

  // fetch would rewrite the paths that matter here.
  async function call(
    path: string,
    options: { method?: string; headers?: Record<string, string>; body?: string } = {},
  ): Promise<{ status: number; headers: Record<string, unknown>; text: string }> {
    const { method = 'GET', headers = {}, body } = options;
    const outgoing = openRequest({ host: '127.0.0.1', port, path, method, headers });
    outgoing.end(body);
    const [answer] = await once(outgoing, 'response');
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk as Buffer);
    return { status: answer.statusCode, headers: answer.headers, text: Buffer.concat(chunks).toString() };
  }

  it('hands a call on with the token of the connector, whatever the caller brought', async () => {
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
  ])('never takes the token to another host (%#)', async (path) => {
    const elsewhere = await startReceiver();
    try {
      await call(path(elsewhere.origin));

      expect(elsewhere.requests).toEqual([]);
      expect(connector.requests).toHaveLength(1);
    } finally {
      await elsewhere.close();
    }
  });

  it('keeps what belongs to one hop to that hop', async () => {
    connector.script({ status: 200, headers: { Connection: 'close', 'Keep-Alive': 'timeout=1' }, body: 'x' });
    const { headers } = await call('/connector/healthz', { headers: { connection: 'keep-alive' } });
    expect(headers['connection']).toBe('keep-alive');
    expect(headers['keep-alive']).not.toBe('timeout=1');
  });

  it('ends the call when the caller leaves', async () => {
    const left = Promise.withResolvers<void>();
    const stream = createServer((request, response) => {
      request.once('close', () => left.resolve());
      response.writeHead(200).write('data: 1\n\n');
    }).listen(0, '127.0.0.1');
    await once(stream, 'listening');
    target = `http://127.0.0.1:${(stream.address() as AddressInfo).port}`;

    const outgoing = openRequest({ host: '127.0.0.1', port, path: '/connector/v1/changes/stream' }).end();
    const [answer] = await once(outgoing, 'response');
    const [first] = await once(answer, 'data');
    outgoing.destroy();
    await left.promise;

    expect(String(first)).toBe('data: 1\n\n');
    stream.close();
  });

  it('says so when the connector does not answer', async () => {
    await connector.close();
    const { status, text } = await call('/connector/v1/messages');
    expect(status).toBe(502);
    expect(JSON.parse(text)).toMatchObject({ error: 'connector_unreachable' });
  });
});
