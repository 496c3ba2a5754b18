import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { text } from 'node:stream/consumers';
import nock from 'nock';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createServiceClient } from '../../../src/connector/service-client/service-client.ts';
import {
  isRefusal,
  ServiceAnswerUnreadable,
  ServiceRefusal,
} from '../../../src/connector/service-client/service-errors.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { serve } from '../../support/serve.ts';
import { answerByNock } from './answer-by-nock.ts';

const origin = 'https://service.example';
const baseUrl = `${origin}/api/v1`;
const clock = new ManualClock();
/** nock replaces the global one. */
const intercepted: typeof fetch = (...call) => fetch(...call);

function client(token = 'key-1') {
  return createServiceClient({ baseUrl, token: () => token, clock, fetch: intercepted });
}

function service(): nock.Scope {
  return nock(origin, { reqheaders: { authorization: 'Bearer key-1' } });
}

const message = {
  id: 'cm1',
  waMessageId: null,
  connectionId: 'cc1',
  direction: 'outgoing',
  text: 'hello',
  mediaUrl: null,
  mediaType: null,
  status: 'delivered',
  errorMessage: null,
  createdAt: '2026-01-15T12:00:00.000Z',
};

async function failure(run: Promise<unknown>): Promise<unknown> {
  return await run.then(
    () => expect.fail('the call succeeded'),
    (error: unknown) => error,
  );
}

answerByNock(clock);

describe('a connection id that looks like a segment of a path', () => {
  it.each(['.', '..', ''])('is not a connection, and the service is not called: %j', async (id) => {
    const calls = [
      client().getConnection(id),
      client().deleteConnection(id),
      client().restartConnection(id),
      client().logoutConnection(id),
      client().requestPairingCode(id, '447700900201'),
    ];
    for (const call of calls) expect(await failure(call)).toMatchObject({ status: 404, code: 'not_found' });
  });

  it.each([
    ['%2e%2e', '%252e%252e'],
    ['../account', '..%2Faccount'],
    ['a?b#c', 'a%3Fb%23c'],
    ['...', '...'],
  ])('stays one segment if it only looks like several: %s', async (id, sent) => {
    const asked: string[] = [];
    service()
      .delete((uri) => asked.push(uri) > 0)
      .reply(200, { ok: true });
    await client().deleteConnection(id);
    expect(asked[0]).toBe(`/api/v1/connections/${sent}`);
  });
});

describe('reading from the service', () => {
  it('requests a page with connection, limit and cursor, and returns times as milliseconds', async () => {
    service()
      .get('/api/v1/messages')
      .query({ connectionId: 'cc1', limit: 100, cursor: 'c+/=1' })
      .reply(200, { messages: [message], nextCursor: 'c2', hasMore: true, added: 'later' });
    const page = await client().listMessages({ connectionId: 'cc1', limit: 100, cursor: 'c+/=1' });
    expect(page).toEqual({
      items: [{ ...message, createdAt: Date.UTC(2026, 0, 15, 12), certain: true }],
      nextCursor: 'c2',
      hasMore: true,
      invalid: [],
      unread: [],
    });
  });

  it('sends no connection and no cursor if there is none', async () => {
    service()
      .get('/api/v1/messages')
      .query({ limit: 20 })
      .reply(200, { messages: [], nextCursor: null, hasMore: false });
    expect(await client().listMessages({ limit: 20, cursor: null })).toMatchObject({
      items: [],
      hasMore: false,
    });
  });

  it('returns an unknown status as null, and skips records without an id', async () => {
    const messages = [
      { ...message, status: 'archived' },
      { ...message, id: undefined },
    ];
    service().get('/api/v1/messages').query(true).reply(200, { messages, nextCursor: null, hasMore: false });
    const page = await client().listMessages({ limit: 20 });
    expect(page.items.map((item) => item.status)).toEqual([null]);
    expect(page.invalid).toHaveLength(1);
  });

  it('lists connections', async () => {
    const connections = [{ id: 'cc1', status: 'open', licenseExpires: '2026-02-01T00:00:00Z', extra: 1 }];
    service().get('/api/v1/connections').reply(200, { connections });
    const list = await client().listConnections();
    expect(list.items).toMatchObject([
      { id: 'cc1', status: 'open', phoneNumber: null, licenseExpires: Date.UTC(2026, 1, 1) },
    ]);
  });

  it('returns the webhook before one was set', async () => {
    service().get('/api/v1/webhook').reply(200, { url: null, events: [], secretSet: false });
    expect(await client().getWebhook()).toMatchObject({ url: null, secretSet: false });
  });

  it('accepts a base address that ends with a slash', async () => {
    service().get('/api/v1/connections').reply(200, { connections: [] });
    const slashed = createServiceClient({
      baseUrl: `${baseUrl}/`,
      token: () => 'key-1',
      clock,
      fetch: intercepted,
    });
    expect((await slashed.listConnections()).items).toEqual([]);
  });
});

describe('issuing a secret', () => {
  const headers = { date: 'Thu, 15 Jan 2026 12:00:07 GMT' };

  it('sets the address and returns the secret with the date of the answer', async () => {
    service()
      .put('/api/v1/webhook', { url: 'https://crm.example/hook' })
      .reply(200, { url: 'https://crm.example/hook', events: [], secret: 's1' }, headers);
    expect(await client().putWebhook('https://crm.example/hook')).toEqual({
      secret: 's1',
      issuedAt: Date.UTC(2026, 0, 15, 12, 0, 7),
    });
  });

  it('rotates the secret', async () => {
    service().post('/api/v1/webhook/rotate').reply(200, { secret: 's2' }, headers);
    expect((await client().rotateWebhook()).secret).toBe('s2');
  });

  it('refuses an answer without a secret', async () => {
    service().post('/api/v1/webhook/rotate').reply(200, { ok: true });
    expect(await failure(client().rotateWebhook())).toBeInstanceOf(ServiceAnswerUnreadable);
  });
});

describe('refusals by the service', () => {
  it('have a code, a field and the wait', async () => {
    const body = { error: 'invalid_request', field: 'cursor', hint: 'start again', newer: true };
    service().get('/api/v1/messages').query(true).reply(400, body, { 'retry-after': '3' });
    const error = await failure(client().listMessages({ limit: 20 }));
    expect(error).toBeInstanceOf(ServiceRefusal);
    expect(error).toMatchObject({
      status: 400,
      code: 'invalid_request',
      field: 'cursor',
      retryAfterMs: 3_000,
    });
    expect(isRefusal(error, 'invalid_request')).toBe(true);
    expect(isRefusal(error, 'invalid_key')).toBe(false);
  });

  it('may have a code that is newer than this version', async () => {
    service().get('/api/v1/connections').reply(409, { error: 'brand_new' });
    expect(await failure(client().listConnections())).toMatchObject({ status: 409, code: 'brand_new' });
  });

  it('contain the status if the body is the page of a proxy', async () => {
    service().get('/api/v1/connections').reply(502, '<html>bad gateway</html>');
    expect(await failure(client().listConnections())).toMatchObject({ code: 'http_502', retryAfterMs: null });
  });

  it('include redirects, which are not followed', async () => {
    service().get('/api/v1/connections').reply(302, '', { location: 'https://elsewhere.example/' });
    expect(await failure(client().listConnections())).toMatchObject({ status: 302, code: 'http_302' });
  });

  it.each([429, 500, 503])('are not retried: %i costs one request', async (status) => {
    let requests = 0;
    service()
      .persist()
      .get('/api/v1/connections')
      .reply(() => {
        requests += 1;
        return [status, { error: 'rate_limited' }];
      });
    await failure(client().listConnections());
    nock.cleanAll();
    expect(requests).toBe(1);
  });

  it('never contain the credential', async () => {
    nock(origin).get('/api/v1/connections').reply(401, { error: 'invalid_key' });
    const error = await failure(client('canary-key').listConnections());
    expect(JSON.stringify(error) + String(error)).not.toContain('canary-key');
  });
});

describe('answers of the wrong shape', () => {
  it.each([
    ['no JSON', '<html></html>'],
    ['no list', { connections: 'none' }],
    ['a bare list', []],
  ])('are refused: %s', async (_what, body) => {
    service().get('/api/v1/connections').reply(200, body);
    expect(await failure(client().listConnections())).toBeInstanceOf(ServiceAnswerUnreadable);
  });

  it('are refused if they are larger than 8 MiB, and 4 MiB are read', async () => {
    const large = (bytes: number) => JSON.stringify({ connections: [], pad: 'x'.repeat(bytes) });
    service()
      .get('/api/v1/connections')
      .reply(200, large(4 * 1024 * 1024));
    expect((await client().listConnections()).items).toEqual([]);
    service()
      .get('/api/v1/connections')
      .reply(200, large(9 * 1024 * 1024));
    expect(await failure(client().listConnections())).toBeInstanceOf(ServiceAnswerUnreadable);
  });
});

/** A server on this machine until the test ends. Resolves with its address. */
async function serveBy(answer: RequestListener): Promise<string> {
  const { url, close } = await serve(createServer(answer));
  nock.enableNetConnect('127.0.0.1');
  onTestFinished(async () => {
    await close();
    nock.disableNetConnect();
  });
  return url;
}

it('a file is sent in base64 with its length, and again after a refused token', async () => {
  const received: { readonly headers: IncomingHttpHeaders; readonly body: string }[] = [];
  const baseUrl = await serveBy(async (request, response) => {
    received.push({ headers: request.headers, body: await text(request) });
    response.writeHead(received.length === 1 ? 401 : 201).end('{"messageId":"cm1","status":"sent"}');
  });
  const sending = createServiceClient({
    baseUrl,
    token: () => 'key-1',
    renew: async () => 'key-2',
    clock,
  });
  const file = { filename: 'größe".bin', mimetype: 'application/octet-stream' };
  const message = { connectionId: 'cc1', to: '447700900201', idempotencyKey: 'k1' };
  const data = Buffer.alloc(500_000, 'bytes of a file');
  expect(await sending.sendMessage({ ...message, media: { ...file, data } })).toMatchObject({
    status: 'sent',
  });
  expect(received).toHaveLength(2);
  for (const { headers, body } of received) {
    expect(headers['content-type']).toBe('application/json');
    expect(headers['content-length']).toBe(`${Buffer.byteLength(body)}`);
    expect(JSON.parse(body)).toEqual({ ...message, media: { ...file, data: data.toString('base64') } });
  }
});

describe('a missing answer', () => {
  it.each(['before the headers', 'in the middle of the body'])('ends at the deadline %s', async (moment) => {
    const reached = Promise.withResolvers<void>();
    const baseUrl = await serveBy((_request, response) => {
      if (moment !== 'before the headers') response.writeHead(200).write('{"connections":[');
      reached.resolve();
    });
    const slow = createServiceClient({ baseUrl, token: () => 'key-1', clock });
    const outcome = failure(slow.listConnections());
    await reached.promise;
    await clock.advance(19_999);
    expect(clock.pending).toBe(1);
    await clock.advance(1);
    expect(await outcome).toMatchObject({ code: 'deadline' });
  });

  it('is not an unasked 100 Continue before the answer', async () => {
    const baseUrl = await serveBy((_request, response) => {
      response.writeContinue();
      response.end('{"connections":[]}');
    });
    const asked = createServiceClient({ baseUrl, token: () => 'key-1', clock });
    expect(await asked.listConnections()).toMatchObject({ items: [] });
  });

  it('ends when the caller aborts', async () => {
    const givenUp = AbortSignal.abort();
    expect(await failure(client().listConnections(givenUp))).toMatchObject({ code: 'aborted' });
  });
});
