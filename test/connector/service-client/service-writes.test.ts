import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { createServiceClient } from '../../../src/connector/service-client/service-client.ts';
import {
  ServiceAnswerUnreadable,
  ServiceError,
  ServiceRefusal,
} from '../../../src/connector/service-client/service-errors.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { proves } from '../../support/proves.ts';
import { answerByNock } from './answer-by-nock.ts';

const origin = 'https://service.example';
const clock = new ManualClock();
const client = createServiceClient({
  baseUrl: `${origin}/api/v1`,
  token: () => 'key-1',
  clock,
  // nock replaces the global one.
  fetch: (...call) => fetch(...call),
});

function service(): nock.Scope {
  return nock(origin, { reqheaders: { authorization: 'Bearer key-1' } });
}

async function failure(run: Promise<unknown>): Promise<ServiceError> {
  const error: unknown = await run.then(
    () => expect.fail('the call succeeded'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ServiceError)) throw error;
  return error;
}

answerByNock(clock);

const silence = () => new Promise<nock.ReplyFnResult>(() => undefined);
const text = { connectionId: 'cc1', to: '447700900201', text: 'hello', idempotencyKey: 'k1' };

describe('connections', () => {
  it('are created with the key in the header, and a replay is read as well', async () => {
    const created = { connection: { id: 'cc1', status: 'connecting', qr: 'data:image/png;base64,AA' } };
    const keyed = () =>
      nock(origin, { reqheaders: { 'idempotency-key': 'once' } }).post('/api/v1/connections', { label: 'a' });
    keyed().reply(201, created);
    keyed().reply(200, { connection: { id: 'cc1', status: 'open' } }, { 'Idempotency-Replayed': 'true' });
    expect(await client.createConnection({ label: 'a' }, 'once')).toEqual(created.connection);
    expect(await client.createConnection({ label: 'a' }, 'once')).toEqual({
      id: 'cc1',
      status: 'open',
      qr: null,
    });
  });

  it('are read without the fields that the service may add', async () => {
    service()
      .get('/api/v1/connections/cc1')
      .reply(200, { connection: { id: 'cc1', status: 'connected', added: 1 } });
    expect(await client.getConnection('cc1')).toMatchObject({ id: 'cc1', status: 'connected', qr: null });
  });

  it('are restarted, logged out and deleted', async () => {
    service().post('/api/v1/connections/cc1/restart').reply(200, { ok: true, recreated: true });
    service().post('/api/v1/connections/cc1/logout').reply(200, { ok: true });
    service().delete('/api/v1/connections/cc1').reply(200, { ok: true });
    expect(await client.restartConnection('cc1')).toEqual({ recreated: true });
    await client.logoutConnection('cc1');
    await client.deleteConnection('cc1');
  });

  it('have their id encoded as one segment of the path', async () => {
    service().get('/api/v1/connections/a%2F..%2Fb%3F').reply(404, { error: 'not_found' });
    expect((await failure(client.getConnection('a/../b?'))).code).toBe('not_found');
  });

  it('issue a pairing code', async () => {
    service()
      .post('/api/v1/connections/cc1/pairing-code', { phoneNumber: '447700900100' })
      .reply(200, { code: 'ABCD-1234' });
    expect(await client.requestPairingCode('cc1', '447700900100')).toBe('ABCD-1234');
  });
});

describe('the account', () => {
  it('is read', async () => {
    const account = {
      slots: { total: 3, used: 1, available: 2, nextExpiry: null },
      connections: { total: 1, connected: 1, needsReconnect: 0 },
    };
    service()
      .get('/api/v1/account')
      .reply(200, { ...account, added: true });
    expect(await client.readAccount()).toEqual(account);
  });
});

describe('a send', () => {
  it('carries its key in the body and returns the message', async () => {
    service()
      .post('/api/v1/messages', text)
      .reply(200, { messageId: 'cm1', waMessageId: null, status: 'sent', added: 1 });
    expect(await client.sendMessage(text)).toEqual({
      messageId: 'cm1',
      waMessageId: null,
      status: 'sent',
      persisted: true,
    });
  });

  it('reports a message that was delivered but not stored', async () => {
    service()
      .post('/api/v1/messages')
      .reply(200, { messageId: null, waMessageId: null, status: 'sent', persisted: false });
    expect(await client.sendMessage(text)).toMatchObject({ messageId: null, persisted: false });
  });

  it('times out after 200 s, and may have acted by then', async () => {
    proves('messages.send.client-timeout', 'limits.send-timeout');
    service().post('/api/v1/messages').reply(silence);
    let over = false;
    const sending = failure(client.sendMessage(text)).finally(() => {
      over = true;
    });
    await clock.advance(199_999);
    expect(over).toBe(false);
    await clock.advance(1);
    expect(await sending).toMatchObject({ code: 'deadline', mayHaveActed: true, status: null });
  });

  it.each([502, 503, 409, 429])('is never retried by the client: %i costs one request', async (status) => {
    let requests = 0;
    service()
      .persist()
      .post('/api/v1/messages')
      .reply(() => {
        requests += 1;
        return [status, { error: 'send_failed' }, { 'retry-after': '1' }];
      });
    expect((await failure(client.sendMessage(text))).retryAfterMs).toBe(1_000);
    nock.cleanAll();
    expect(requests).toBe(1);
  });
});

describe('read receipts', () => {
  it('return how many messages they marked', async () => {
    service()
      .post('/api/v1/messages/read', { connectionId: 'cc1', phone: '447700900201' })
      .reply(200, { ok: true, marked: 3 });
    expect(await client.markRead({ connectionId: 'cc1', phone: '447700900201' })).toBe(3);
  });
});

describe('whether the service may have acted', () => {
  it.each<[number, unknown, boolean]>([
    [400, { error: 'invalid_request' }, false],
    [409, { error: 'in_progress' }, false],
    [502, { error: 'send_failed' }, false],
    [500, { error: 'internal_error' }, true],
    [502, '<html>bad gateway</html>', true],
    [504, { error: 'upstream_timeout' }, true],
    [404, { error: 'not_found' }, false],
    [404, '<html>not here</html>', true],
    [401, '<html>password, please</html>', true],
    [302, '', true],
    [409, { error: 'a_new_code' }, true],
    [413, '<html>too large</html>', false],
    [429, '<html>slow down</html>', false],
  ])('after %i %j is %s', async (status, body, expected) => {
    service()
      .post('/api/v1/messages')
      .reply(status, body as nock.Body);
    const error = await failure(client.sendMessage(text));
    expect(error).toBeInstanceOf(ServiceRefusal);
    expect(error).toMatchObject({ status, mayHaveActed: expected });
  });

  it('is certain after an answer that cannot be parsed', async () => {
    service().post('/api/v1/messages').reply(200, 'OK');
    const error = await failure(client.sendMessage(text));
    expect(error).toBeInstanceOf(ServiceAnswerUnreadable);
    expect(error.mayHaveActed).toBe(true);
  });

  it.each([
    ['ECONNREFUSED', 'connect', false],
    ['ENOTFOUND', 'connect', false],
    ['ECONNRESET', 'network', true],
    ['ETIMEDOUT', 'network', true],
  ])('after %s it failed to %s: %s', async (code, expected, acted) => {
    service()
      .post('/api/v1/messages')
      .replyWithError(Object.assign(new Error('broken'), { code }));
    expect(await failure(client.sendMessage(text))).toMatchObject({ code: expected, mayHaveActed: acted });
  });

  it('is possible if the caller aborts', async () => {
    const leave = new AbortController();
    service().post('/api/v1/messages').reply(silence);
    const failed = failure(client.sendMessage(text, leave.signal));
    await new Promise<void>((resolve) => setImmediate(resolve));
    leave.abort();
    expect(await failed).toMatchObject({ code: 'aborted', mayHaveActed: true });
  });
});
