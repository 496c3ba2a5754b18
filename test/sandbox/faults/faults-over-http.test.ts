import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { WatchedClock } from '../../support/watched-clock.ts';
import { startTestSandbox, type TestSandbox } from '../fixture.ts';

describe('faults, put over HTTP', () => {
  let test: TestSandbox;
  let receiver: Receiver;
  let clock: WatchedClock;
  let connectionId: string;

  beforeEach(async () => {
    clock = new WatchedClock();
    [test, receiver] = await Promise.all([startTestSandbox({ clock }), startReceiver()]);
    await test.call('PUT', '/hosts/crm.example.com', { target: receiver.origin });
    const { seed } = test.sandbox;
    await test.service.call('PUT', '/webhook', {
      key: seed.apiKey,
      body: { url: 'https://crm.example.com/' },
    });
    const { body } = await test.service.call('GET', '/connections', { key: seed.apiKey });
    const { connections } = body as { connections: { id: string; provider: string }[] };
    connectionId = connections.find(({ provider }) => provider === 'qr')?.id ?? '';
  });

  afterEach(async () => {
    await test.close();
    await receiver.close();
  });

  const api = (method: string, path: string, body?: unknown) =>
    test.service.call(method, path, {
      key: test.sandbox.seed.apiKey,
      ...(body === undefined ? {} : { body }),
    });
  const put = (rules: object[]) => test.call('PUT', '/faults', { rules });
  const write = () => test.call('POST', '/contacts/491700000009/messages', { connectionId, text: 'hello' });

  it('answer the rules with their hits', async () => {
    const rule = {
      id: 'twice',
      match: { surface: 'webhook' },
      action: { type: 'duplicate', times: 2 },
      first: 1,
    };
    const { status, body } = await test.call('PUT', '/faults', { seed: 3, rules: [rule] });
    expect({ status, body }).toEqual({ status: 200, body: { seed: 3, rules: [{ ...rule, hits: 0 }] } });
    await write();
    await write();
    await test.service.platform.delivery.settle();
    expect(receiver.requests).toHaveLength(4);
    expect((await test.call('GET', '/faults')).body.rules[0].hits).toBe(1);
    expect((await test.call('DELETE', '/faults')).body).toEqual({ seed: 1, rules: [] });
  });

  it('name themselves in the attempts that they touched', async () => {
    await put([{ id: 'lossy', match: { surface: 'webhook' }, action: { type: 'drop' }, first: 1 }]);
    await write();
    await clock.timerSet(500);
    await clock.advance(500);
    await test.service.platform.delivery.settle();
    const { body } = await test.call('GET', '/deliveries');
    expect(body.entries[0]).toMatchObject({
      outcome: 'delivered',
      attempts: [{ error: 'dropped', faults: ['lossy'] }, { status: 200 }],
    });
  });

  it('lose an event with all of its attempts, and the ledger knows it all the same', async () => {
    await put([
      { id: 'lost', match: { surface: 'webhook' }, action: { type: 'drop' }, probability: 1, per: 'event' },
    ]);
    const { body: written } = await write();
    await clock.timerSet(500);
    await clock.advance(500);
    await clock.timerSet(1_000);
    await clock.advance(1_000);
    await test.service.platform.delivery.settle();
    expect(receiver.requests).toHaveLength(0);
    expect((await test.call('GET', '/deliveries')).body.entries[0].outcome).toBe('dropped');
    expect((await test.call('GET', '/ledger')).body.entries).toMatchObject([
      { seq: 1, messageId: written.messageId },
    ]);
    expect((await test.call('GET', '/faults')).body.rules[0].hits).toBe(1);
  });

  it('answer a call with a status, and leave the next one alone', async () => {
    const action = { type: 'status', code: 429, error: 'rate_limited', retryAfter: 7 };
    await put([{ id: 'busy', match: { surface: 'api', path: '/messages' }, action, first: 1 }]);
    const key = test.sandbox.seed.apiKey;
    const refused = await test.service.call('GET', '/messages', { key, faulted: true });
    expect({ status: refused.status, body: refused.body }).toEqual({
      status: 429,
      body: { error: 'rate_limited' },
    });
    expect(refused.headers.get('retry-after')).toBe('7');
    expect((await api('GET', '/messages')).status).toBe(200);
  });

  it('reset a call before it is handled', async () => {
    await put([
      { id: 'cut', match: { surface: 'api', method: 'POST' }, action: { type: 'reset' }, first: 1 },
    ]);
    const body = { connectionId, to: '491700000002', text: 'hello' };
    await expect(api('POST', '/messages', body)).rejects.toThrow();
    expect((await test.call('GET', '/contacts/491700000002/messages')).body.entries).toEqual([]);
  });

  it('handle a call and lose its answer', async () => {
    await put([
      { id: 'lost', match: { surface: 'api', method: 'POST' }, action: { type: 'lost_answer' }, first: 1 },
    ]);
    const body = { connectionId, to: '491700000002', text: 'hello' };
    await expect(api('POST', '/messages', body)).rejects.toThrow();
    expect((await test.call('GET', '/contacts/491700000002/messages')).body.entries).toHaveLength(1);
  });

  it('deliver a send that is not stored', async () => {
    await put([{ id: 'gone', match: { surface: 'api' }, action: { type: 'not_persisted' }, first: 1 }]);
    const sent = await api('POST', '/messages', { connectionId, to: '491700000002', text: 'hello' });
    expect(sent).toMatchObject({ status: 200, body: { messageId: null, persisted: false } });
    expect((await test.call('GET', '/contacts/491700000002/messages')).body.entries).toHaveLength(1);
  });

  it('hold a call before it is handled', async () => {
    await put([{ id: 'slow', match: { surface: 'api' }, action: { type: 'delay', ms: 4_000 }, first: 1 }]);
    const held = api('GET', '/messages');
    await clock.timerSet(4_000);
    expect((await api('GET', '/messages')).status).toBe(200);
    await clock.advance(4_000);
    expect((await held).status).toBe(200);
  });
});
