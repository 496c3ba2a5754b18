import { describe, expect, it } from 'vitest';
import { exactly } from '../../../src/contract/sandbox/filter.ts';
import { clearTables } from '../../../src/platform/db/clear-tables.ts';
import { recordEvents } from '../../../src/platform/webhooks/ledger.ts';
import { proves } from '../../support/proves.ts';
import { startReceiver } from '../../support/receiver.ts';
import { isSignedWith } from '../../support/signed-request.ts';
import { HOOK, HOST, receivedEvent, receivedEvents, shareDatabase, useHook, WORKSPACE } from './fixture.ts';

const start = Date.UTC(2026, 0, 15, 12);

shareDatabase();

describe('delivery', () => {
  const hook = useHook();

  it('posts the payload, signed over its raw bytes, to the path of the webhook', async () => {
    proves('delivery.signature', 'delivery.timestamp-header', 'delivery.signature-header');
    proves('events.post');
    proves('wire.names');
    const event = receivedEvent('cmessage1', 'grüße 🙂');
    await hook.fixture.emit(event);
    const [request] = await hook.receiver.received(1);
    await hook.fixture.delivery.settle();

    expect(request).toMatchObject({ method: 'POST', path: '/webhooks/messaging?tag=1', complete: true });
    expect(request?.body.toString()).toBe(JSON.stringify(event.payload));
    expect(request?.headers['host']).toEqual([HOST]);
    expect(request?.headers['content-type']).toEqual(['application/json']);
    expect(request?.headers['x-service-timestamp']).toEqual([String(start)]);
    expect(isSignedWith(hook.secret, request)).toBe(true);
  });

  it.each([200, 201, 202, 204, 299])('treats %i as a success', async (status) => {
    proves('delivery.success');
    hook.receiver.script({ status });
    await hook.fixture.deliver(receivedEvent('cmessage1'));
    const [delivery] = await hook.fixture.delivery.list({ limit: 10 });
    expect(delivery).toMatchObject({ outcome: 'delivered', attempts: [{ at: start, status }] });
    expect(hook.receiver.requests).toHaveLength(1);
  });

  it('makes three attempts, 500 ms and 1 s after the end of the previous one, with the same bytes and signature', async () => {
    proves('delivery.attempts', 'delivery.identical', 'delivery.dropped', 'delivery.failure');
    proves('limits.webhook-retries');
    hook.receiver.otherwise({ status: 503 });
    await hook.fixture.emit(receivedEvent('cmessage1'));
    await hook.fixture.clock.timerSet(500);
    await hook.fixture.clock.advance(499);
    expect(hook.receiver.requests).toHaveLength(1);
    await hook.fixture.clock.advance(1);
    await hook.receiver.received(2);
    await hook.fixture.clock.timerSet(1_000);
    await hook.fixture.clock.advance(999);
    expect(hook.receiver.requests).toHaveLength(2);
    await hook.fixture.clock.advance(1);
    await hook.receiver.received(3);
    await hook.fixture.delivery.settle();

    const [first, second, third] = hook.receiver.requests;
    expect(second).toEqual(first);
    expect(third).toEqual(first);
    const [delivery] = await hook.fixture.delivery.list({ limit: 10 });
    expect(delivery?.outcome).toBe('dropped');
    expect(delivery?.attempts).toEqual([
      { at: start, ms: 0, status: 503 },
      { at: start + 500, ms: 0, status: 503 },
      { at: start + 1_500, ms: 0, status: 503 },
    ]);
    await hook.fixture.clock.advance(3_600_000);
    expect(hook.receiver.requests).toHaveLength(3);
  });

  it('counts the wait from the end of an attempt, not from its start', async () => {
    proves('choice.attempts.from-end');
    const answer = Promise.withResolvers<void>();
    hook.receiver.script({ after: answer.promise, thenStatus: 500 });
    await hook.fixture.emit(receivedEvent('cmessage1'));
    await hook.receiver.received(1);
    await hook.fixture.clock.advance(4_000);
    answer.resolve();
    await hook.fixture.clock.timerSet(500);
    await hook.fixture.clock.advance(499);
    expect(hook.receiver.requests).toHaveLength(1);
    await hook.fixture.clock.advance(1);
    await hook.fixture.delivery.settle();
    expect((await hook.fixture.delivery.list({ limit: 1 }))[0]?.attempts).toEqual([
      { at: start, ms: 4_000, status: 500 },
      { at: start + 4_500, ms: 0, status: 200 },
    ]);
  });

  it('aborts an attempt after 10 s without an answer', async () => {
    proves('delivery.timeout', 'limits.webhook-retries');
    hook.receiver.script({ hang: true });
    await hook.fixture.emit(receivedEvent('cmessage1'));
    await hook.receiver.received(1);
    await hook.fixture.clock.advance(9_999);
    const [begun] = await hook.fixture.delivery.list({ limit: 1 });
    expect(begun).toMatchObject({ attempts: [], url: HOOK });
    expect(await hook.fixture.delivery.find(begun?.id ?? 0)).toEqual(begun);
    await hook.fixture.clock.advance(1);
    await hook.fixture.retry(500);
    const [delivery] = await hook.fixture.delivery.list({ limit: 1 });
    expect(delivery?.attempts).toEqual([
      { at: start, ms: 10_000, error: 'timeout' },
      { at: start + 10_500, ms: 0, status: 200 },
    ]);
  });

  it('includes the answer in the 10 s: one that never ends is a failure', async () => {
    hook.receiver.script({ endless: true });
    await hook.fixture.emit(receivedEvent('cmessage1'));
    await hook.receiver.received(1);
    await hook.fixture.pass(10_000);
    await hook.fixture.retry(500);
    const [delivery] = await hook.fixture.delivery.list({ limit: 1 });
    expect(delivery?.attempts[0]).toMatchObject({ ms: 10_000, error: 'timeout' });
    expect(delivery?.outcome).toBe('delivered');
  });

  it.each([301, 302, 303, 307, 308])(
    'treats a redirect with %i as a failure and does not follow it',
    async (status) => {
      proves('delivery.redirect', 'delivery.failure');
      const elsewhere = await startReceiver();
      hook.receiver.script({ status, headers: { Location: `${elsewhere.origin}/elsewhere` } });
      await hook.fixture.emit(receivedEvent('cmessage1'));
      await hook.fixture.retry(500);
      expect(elsewhere.connections).toBe(0);
      expect(hook.receiver.requests.map(({ path }) => path)).toEqual([
        '/webhooks/messaging?tag=1',
        '/webhooks/messaging?tag=1',
      ]);
      expect(
        (await hook.fixture.delivery.list({ limit: 1 }))[0]?.attempts.map((attempt) => attempt.status),
      ).toEqual([status, 200]);
      await elsewhere.close();
    },
  );

  it('goes only to the webhook of its own account', async () => {
    proves('events.post', 'webhook.config.one');
    const other = await startReceiver();
    hook.fixture.tunnels.set('other.example.com', other.origin);
    await hook.fixture.configuration.put('cworkspace000000000000002', 'https://other.example.com/');
    await hook.fixture.deliver(
      receivedEvent('cmessage1'),
      receivedEvent('cmessage2', 'hello', 'cworkspace000000000000002'),
    );
    const told = [hook.receiver, other].map(({ requests }) =>
      requests.map(({ body }) => JSON.parse(body.toString()).message.id),
    );
    expect(told).toEqual([['cmessage1'], ['cmessage2']]);
    await other.close();
  });

  it('reads an answer of 8 MB and uses its status', async () => {
    hook.receiver.script({ status: 200, body: Buffer.alloc(8 * 1024 * 1024, 'x') });
    await hook.fixture.deliver(receivedEvent('cmessage1'));
    expect((await hook.fixture.delivery.list({ limit: 1 }))[0]).toMatchObject({
      outcome: 'delivered',
      attempts: [{ status: 200 }],
    });
  });

  it('drops an event after its connection was refused three times', async () => {
    proves('delivery.dropped');
    await hook.receiver.close();
    await hook.fixture.emit(receivedEvent('cmessage1'));
    await hook.fixture.pass(500);
    await hook.fixture.retry(1_000);
    const [delivery] = await hook.fixture.delivery.list({ limit: 1 });
    expect(delivery?.outcome).toBe('dropped');
    expect(delivery?.attempts.map(({ error }) => error)).toEqual([
      'connection_refused',
      'connection_refused',
      'connection_refused',
    ]);
  });

  it('keeps connections alive between events', async () => {
    for (let index = 0; index < 5; index += 1) {
      await hook.fixture.deliver(receivedEvent(`cmessage${index}`));
    }
    expect(hook.receiver.requests).toHaveLength(5);
    expect(hook.receiver.connections).toBe(1);
  });

  it('signs with the secret that is valid at the first attempt', async () => {
    proves('webhook.rotate.at-once');
    const rotated = await hook.fixture.configuration.rotate(WORKSPACE);
    const event = receivedEvent('cmessage1');
    await hook.fixture.emit(event);
    const [request] = await hook.receiver.received(1);
    await hook.fixture.delivery.settle();
    expect(isSignedWith(rotated.secret, request)).toBe(true);
    expect(rotated.secret).not.toBe(hook.secret);
  });

  it('uses a changed URL from the next event on', async () => {
    proves('webhook.config.moves', 'webhook.config.one');
    const moved = await startReceiver();
    hook.fixture.tunnels.set('moved.example.com', moved.origin);
    await hook.fixture.configuration.put(WORKSPACE, 'https://moved.example.com/');
    await hook.fixture.deliver(receivedEvent('cmessage1'));
    expect(hook.receiver.requests).toHaveLength(0);
    expect(moved.requests).toHaveLength(1);
    await moved.close();
  });

  it('retries an event with its first signature and URL, even if the webhook has changed', async () => {
    proves('webhook.rotate.at-once', 'webhook.config.moves', 'delivery.identical');
    const moved = await startReceiver();
    hook.fixture.tunnels.set('moved.example.com', moved.origin);
    hook.receiver.script({ status: 500 }, { status: 500 });
    await hook.fixture.emit(receivedEvent('cmessage1'));
    await hook.fixture.clock.timerSet(500);
    const rotated = await hook.fixture.configuration.rotate(WORKSPACE);
    await hook.fixture.clock.advance(500);
    await hook.fixture.clock.timerSet(1_000);
    const put = await hook.fixture.configuration.put(WORKSPACE, 'https://moved.example.com/');
    await hook.fixture.emit(receivedEvent('cmessage2'));
    await hook.fixture.clock.advance(1_000);
    await hook.fixture.delivery.settle();

    const [first, second, third] = hook.receiver.requests;
    expect(second).toEqual(first);
    expect(third).toEqual(first);
    expect(hook.receiver.requests).toHaveLength(3);
    expect(isSignedWith(hook.secret, first)).toBe(true);
    expect(moved.requests).toHaveLength(1);
    expect([rotated.secret, put.secret].map((secret) => isSignedWith(secret, moved.requests[0]))).toEqual([
      false,
      true,
    ]);
    await moved.close();
  });

  it('opens no connection to the previous target of a tunnel', async () => {
    await hook.fixture.deliver(receivedEvent('cmessage1'));
    const moved = await startReceiver();
    hook.fixture.tunnels.set(HOST, moved.origin);
    await hook.fixture.deliver(receivedEvent('cmessage2'));
    expect(hook.receiver.requests).toHaveLength(1);
    expect(moved.requests).toHaveLength(1);
    await moved.close();
  });

  it('records that an event had no webhook', async () => {
    await hook.fixture.deliver(receivedEvent('cmessage1', 'hello', 'cworkspacewithoutwebhook1'));
    expect((await hook.fixture.delivery.list({ limit: 1 }))[0]).toMatchObject({
      outcome: 'dropped',
      reason: 'no_webhook',
      url: null,
      headers: {},
      attempts: [],
    });
  });

  it('lists pending deliveries', async () => {
    hook.receiver.script({ status: 500 });
    await hook.fixture.emit(receivedEvent('cmessage1'));
    await hook.fixture.clock.timerSet(500);
    const [pending] = await hook.fixture.delivery.list({ limit: 10 });
    expect(pending).toMatchObject({ outcome: 'pending', eventId: 1, attempts: [{ status: 500 }] });
    expect(await hook.fixture.delivery.list({ limit: 10, where: exactly({ status: 'dropped' }) })).toEqual(
      [],
    );
    await hook.fixture.clock.advance(500);
    await hook.fixture.delivery.settle();
    const [delivered] = await hook.fixture.delivery.list({
      limit: 10,
      where: exactly({ status: 'delivered' }),
    });
    expect(delivered).toEqual({
      ...pending,
      made: 2,
      outcome: 'delivered',
      attempts: [...(pending?.attempts ?? []), { at: start + 500, ms: 0, status: 200 }],
    });
  });

  it('lists newest first, filtered and in pages', async () => {
    const other = { ...receivedEvent('cmessage9'), connectionId: 'cconnection00000000000002' };
    await hook.fixture.deliver(...receivedEvents(5), other);
    const ids = async (filter: object) =>
      (await hook.fixture.delivery.list({ limit: 10, ...filter })).map(({ messageId }) => messageId);
    expect(await ids({})).toEqual([
      'cmessage9',
      'cmessage4',
      'cmessage3',
      'cmessage2',
      'cmessage1',
      'cmessage0',
    ]);
    expect(await ids({ where: exactly({ connection: other.connectionId }) })).toEqual(['cmessage9']);
    expect(await ids({ where: exactly({ type: 'message.status' }) })).toEqual([]);
    const [first] = await hook.fixture.delivery.list({ limit: 1 });
    expect(await ids({ before: first?.id, limit: 2 })).toEqual(['cmessage4', 'cmessage3']);
  });

  describe('the end of the process', () => {
    it('marks deliveries that a crash interrupted as dropped at the next start', async () => {
      await hook.fixture.deliver(receivedEvent('cmessage1'));
      await recordEvents(
        hook.fixture.database,
        [receivedEvent('cmessage2'), receivedEvent('cmessage3')],
        start,
      );
      await hook.fixture.database.query(`UPDATE platform.deliveries SET held = outcome = 'pending'`);
      const next = await hook.fixture.restart();
      expect(await next.count([])).toEqual({ pending: 0, held: 0, delivered: 1, dropped: 2 });
      const listed = await next.list({ limit: 10 });
      expect(listed.map(({ messageId, outcome, reason }) => [messageId, outcome, reason])).toEqual([
        ['cmessage3', 'dropped', 'interrupted'],
        ['cmessage2', 'dropped', 'interrupted'],
        ['cmessage1', 'delivered', null],
      ]);
      expect(hook.receiver.requests).toHaveLength(1);
    });

    it('does not reuse an id after a restart', async () => {
      await hook.fixture.deliver(receivedEvent('cmessage1'));
      const next = await hook.fixture.restart();
      next.wake(await recordEvents(hook.fixture.database, [receivedEvent('cmessage2')], start));
      await next.settle();
      const listed = await next.list({ limit: 10 });
      expect(listed.map(({ messageId }) => messageId)).toEqual(['cmessage2', 'cmessage1']);
    });

    it('closes without waiting for a receiver that hangs, and logs this', async () => {
      hook.receiver.otherwise({ hang: true });
      await hook.fixture.emit(receivedEvent('cmessage1'));
      await hook.receiver.received(1);
      await hook.fixture.delivery.close();
      const rows = await hook.fixture.database.query(
        'SELECT outcome, reason, attempts FROM platform.deliveries',
      );
      expect(rows).toEqual([
        { outcome: 'dropped', reason: 'interrupted', attempts: [{ at: start, ms: 0, error: 'stopped' }] },
      ]);
      expect(hook.fixture.clock.pending).toBe(0);
    });
  });

  it('discards everything in a reset, including attempts in flight', async () => {
    hook.receiver.otherwise({ hang: true });
    await hook.fixture.emit(receivedEvent('cmessage1'));
    await hook.receiver.received(1);
    await hook.fixture.delivery.reset(() => clearTables(hook.fixture.database));
    await hook.fixture.delivery.settle();
    expect(await hook.fixture.delivery.list({ limit: 10 })).toEqual([]);
    expect(hook.fixture.configuration.get(WORKSPACE)).toMatchObject({ url: null, secretSet: false });
    expect(await hook.fixture.database.query('SELECT 1 FROM platform.ledger')).toEqual([]);
    expect(hook.fixture.clock.pending).toBe(0);
  });
});
