import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createQueueFloors, readDueQueues, readLateSends } from '../../../src/connector/outbox/due-queues.ts';
import type { Outbox } from '../../../src/connector/outbox/outbox.ts';
import { createOutboxMetrics } from '../../../src/connector/outbox/queue-context.ts';
import { queueSend } from '../../../src/connector/outbox/queue-send.ts';
import { ServiceRefusal, ServiceUnreachable } from '../../../src/connector/service-client/service-errors.ts';
import { oldestWaitMs } from '../../../src/connector/state/figures.ts';
import { createMetrics } from '../../../src/runtime/metrics/metrics.ts';
import { ofFile } from '../../support/of-file.ts';
import { proves } from '../../support/proves.ts';
import { aroundQueries } from '../../support/replace-calls.ts';
import { ACCOUNT, newId } from '../support/event-fixtures.ts';
import { lose, OutboxBench, refuse, sentAs } from './outbox-bench.ts';

const HOUR = 3_600_000;

const MINUTE = 60_000;

const bench = ofFile(() => OutboxBench.open());
beforeEach(() => bench.forget());
afterEach(() => bench.stopAll());

describe('queueing a send', () => {
  it('creates one send for a reference, however many requests are concurrent', async () => {
    const connectionId = await bench.addConnection();
    const request = { connectionId, to: '447700900201', text: 'once', reference: 'r-1' };
    const all = await Promise.all(
      Array.from({ length: 8 }, () => queueSend(bench.database, request, bench.clock.now())),
    );
    expect(new Set(all.map((queued) => queued.kind === 'queued' && queued.outboundId)).size).toBe(1);
    expect(all.filter((queued) => queued.kind === 'queued' && queued.isNew)).toHaveLength(1);
  });

  it.each([
    ['text', { text: 'other' }],
    ['recipient', { to: '447700900202' }],
    ['kind', { text: undefined, media: { filename: 'a', mimetype: 'b', data: 'AAAA' } }],
  ])('refuses a reference with another %s', async (_what, changed) => {
    const connectionId = await bench.addConnection();
    const request = { connectionId, to: '447700900201', text: 'once', reference: `r-${connectionId}` };
    await queueSend(bench.database, request, bench.clock.now());
    const again = await queueSend(bench.database, { ...request, ...changed }, bench.clock.now());
    expect(again).toEqual({ kind: 'reused' });
  });

  it('refuses an unknown connection', async () => {
    const request = { connectionId: 'nowhere', to: '447700900201', text: 'x', reference: 'r' };
    expect(await queueSend(bench.database, request, 0)).toEqual({ kind: 'no_connection' });
  });
});

describe('a queue of sends', () => {
  it('sends in order, one at a time, with a UUID as the key of each send', async () => {
    proves('messages.send.key-uuid');
    const [one, two] = [await bench.addConnection(), await bench.addConnection()];
    const open = new Map<string, number>();
    const both = Promise.withResolvers<void>();
    bench.answer = async ({ connectionId, text }) => {
      open.set(connectionId, (open.get(connectionId) ?? 0) + 1);
      expect(open.get(connectionId)).toBe(1);
      if (open.size === 2) both.resolve();
      // Neither gets its first answer before both queues have called.
      await both.promise;
      open.set(connectionId, 0);
      return sentAs(`m-${connectionId}-${text}`);
    };
    for (const text of ['1', '2', '3']) {
      await bench.queueText(one, text);
      await bench.queueText(two, text);
    }
    await bench.sendAll(await bench.running());
    for (const connectionId of [one, two]) {
      const texts = bench.calls.filter((call) => call.connectionId === connectionId).map(({ text }) => text);
      expect(texts).toEqual(['1', '2', '3']);
    }
    expect(new Set(bench.calls.map((call) => call.idempotencyKey)).size).toBe(6);
    const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    expect(bench.calls.filter(({ idempotencyKey }) => !uuid.test(idempotencyKey ?? ''))).toEqual([]);
  });

  it('is processed by one of two processes', async () => {
    const connectionId = await bench.addConnection();
    const [first, second] = [await bench.running(), await bench.running()];
    for (const text of ['1', '2', '3', '4']) await bench.queueText(connectionId, text);
    await Promise.all([first.settle(), second.settle()]);
    await first.settle();
    expect(bench.calls.map(({ text }) => text)).toEqual(['1', '2', '3', '4']);
  });

  it('is blocked by a send that can be repeated, and continues with the same key', async () => {
    const connectionId = await bench.addConnection();
    const first = await bench.queueText(connectionId, '1');
    await bench.queueText(connectionId, '2');
    bench.answer = () => refuse('send_failed');
    const outbox = await bench.running();
    await bench.sendAll(outbox);
    expect(await bench.read(first)).toMatchObject({ state: 'queued', attempts: 1, lastError: 'send_failed' });
    expect(bench.calls.map(({ text }) => text)).toEqual(['1']);
    bench.answer = ({ text }) => sentAs(`held-${text}`);
    await bench.sendAll(outbox, 2);
    expect(bench.calls.map(({ text }) => text)).toEqual(['1', '1', '2']);
    expect(bench.calls[1]?.idempotencyKey).toBe(bench.calls[0]?.idempotencyKey);
    expect(await bench.told(first)).toEqual(['queued', 'sending', 'queued', 'sending', 'sent']);
  });

  it('announces to the feed that a send has begun, and its outcome', async () => {
    await bench.queueText(await bench.addConnection(), 'told');
    await bench.sendAll(await bench.running());
    expect(bench.announced).toBe(2);
  });

  it('repeats a send of a refused credential after 15 s', async () => {
    const id = await bench.queueText(await bench.addConnection(), 'held');
    bench.answer = () => refuse('invalid_key', 401);
    await bench.sendAll(await bench.running());
    expect(Date.parse((await bench.read(id)).nextAttemptAt ?? '')).toBe(bench.clock.now() + 15_000);
  });

  it('continues after a final outcome', async () => {
    const connectionId = await bench.addConnection();
    const first = await bench.queueText(connectionId, '1');
    const second = await bench.queueText(connectionId, '2');
    bench.answer = ({ text }) => (text === '1' ? refuse('recipient_not_on_whatsapp', 422) : sentAs('freed'));
    await bench.sendAll(await bench.running());
    expect(await bench.read(first)).toMatchObject({
      state: 'rejected',
      lastError: 'recipient_not_on_whatsapp',
    });
    expect(await bench.read(second)).toMatchObject({ state: 'sent', messageId: 'freed' });
  });

  it('wakes when its first send is due, and immediately for a new send', async () => {
    const connectionId = await bench.addConnection();
    const outbox = await bench.running();
    await bench.queueText(connectionId, '1');
    bench.answer = () => refuse('rate_limited', 429);
    bench.notifier.notified = [];
    await bench.notifier.deliver('send', connectionId);
    await outbox.settle();
    expect(bench.notifier.notified).toEqual([{ topic: 'send', key: connectionId, delayMs: 30_000 }]);
    outbox.notify(connectionId);
    expect(bench.notifier.notified.at(-1)).toMatchObject({ key: connectionId, delayMs: 0 });
  });

  it('is found by looking if its notification was lost', async () => {
    const connectionId = await bench.addConnection();
    const outbox = await bench.running();
    bench.notifier.failing = true;
    const id = await bench.queueText(connectionId, '1');
    outbox.notify(connectionId);
    bench.notifier.failing = false;
    await bench.clock.advance(5_000);
    await outbox.settle();
    expect(await bench.read(id)).toMatchObject({ state: 'sent', attempts: 1 });
  });
});

/** How late the latest send is, in milliseconds. */
async function late(): Promise<number> {
  const now = bench.clock.now();
  return oldestWaitMs(await readLateSends(bench.database, null, now), now);
}

describe('the sends of many connections', () => {
  it('begin although hundreds of others wait for the service', async () => {
    const connections = await Promise.all(Array.from({ length: 300 }, () => bench.addConnection()));
    for (const connectionId of connections) await bench.queueText(connectionId, 'slow');
    const [all, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    bench.answer = async ({ text }) => {
      if (text === 'slow') {
        if (bench.calls.length === 300) all.resolve();
        await gate.promise;
      }
      return sentAs(`m${Math.random()}`);
    };
    const outbox = await bench.running();
    await all.promise;
    const later = await bench.addConnection();
    const id = await bench.queueText(later, 'quick');
    await outbox.runNow(later);
    expect(await bench.stateOf(id)).toBe('sent');
    gate.resolve();
    await outbox.settle();
  });

  it('are late while they are due and have not begun', async () => {
    expect(await late()).toBe(0);
    const connectionId = await bench.addConnection();
    await bench.queueText(connectionId, 'slow');
    await bench.clock.advance(40_000);
    expect(await late()).toBe(40_000);
    const [called, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    bench.answer = async ({ text }) => {
      if (text === 'slow') {
        called.resolve();
        await gate.promise;
        return sentAs(`m${Math.random()}`);
      }
      return refuse('warmup_limited', 429);
    };
    const outbox = await bench.running();
    await called.promise;
    await bench.queueText(connectionId, 'next');
    await bench.clock.advance(90_000);
    // In flight, and one that must wait for it.
    expect(await late()).toBe(0);
    gate.resolve();
    await outbox.settle();
    await bench.clock.advance(60_000);
    // The service asked for a wait.
    expect(await late()).toBe(0);
  });

  it('are not late while the one before them was in flight', async () => {
    const connectionId = await bench.addConnection();
    const before = await bench.queueText(connectionId, 'before');
    await bench.clock.advance(1);
    await bench.queueText(connectionId, 'next');
    await bench.clock.advance(100_000);
    const end = `update connector.outbound set state = 'sent', updated_at = $2 where id = $1`;
    await bench.database.query(end, [before, bench.clock.now()]);
    await bench.clock.advance(7_000);
    expect(await late()).toBe(7_000);
  });

  it('begin in the order in which they became due', async () => {
    const ids = ['c3', 'c1', 'c2'].map((name) => `${name}-${Math.random()}`);
    for (const connectionId of ids) {
      await bench.addConnection(connectionId);
      await bench.queueText(connectionId, connectionId);
      await bench.clock.advance(1_000);
    }
    const asked = { now: bench.clock.now(), limit: 10, owner: 'nobody' };
    expect(await readDueQueues(bench.database, createQueueFloors(bench.clock), asked)).toEqual(ids);
  });
});

describe('a send that was planned by a process whose clock is an hour ahead', () => {
  it('is attempted by the others at once, and so is what waits behind it', async () => {
    const connectionId = await bench.addConnection();
    const ids = [await bench.queueText(connectionId, 'first'), await bench.queueText(connectionId, 'second')];
    const outbox = await bench.running();
    bench.answer = () => refuse('send_failed');
    bench.clock.jump(HOUR);
    await outbox.settle();
    bench.clock.jump(-HOUR);
    bench.answer = () => sentAs(`m${bench.calls.length}`);
    await outbox.settle();
    expect(await Promise.all(ids.map((id) => bench.stateOf(id)))).toEqual(['sent', 'sent']);
  });

  it('is attempted as soon as after any lost answer if that process died', async () => {
    const id = await bench.queueText(await bench.addConnection(), 'Hello');
    const first = await bench.running();
    const lost = Promise.withResolvers<ReturnType<typeof sentAs>>();
    bench.answer = () => lost.promise;
    bench.clock.jump(HOUR);
    void first.settle();
    await expect.poll(() => bench.calls.length).toBe(1);
    bench.clock.jump(-HOUR);
    await bench.bury(first);
    bench.answer = () => sentAs('m1');
    const second = await bench.running();
    await second.settle();
    await bench.clock.skip(MINUTE);
    await second.settle();
    lost.resolve(sentAs('m1'));
    expect(await bench.stateOf(id)).toBe('sent');
  });

  it('is attempted no later than 23 hours after its second attempt, which a right clock has dated', async () => {
    const id = await bench.queueText(await bench.addConnection(), 'Hello');
    const outbox = await bench.running();
    bench.answer = () => lose();
    bench.clock.jump(2 * HOUR);
    await outbox.settle();
    bench.clock.jump(-2 * HOUR);
    await outbox.settle();
    expect(bench.calls).toHaveLength(2);
    bench.answer = () => sentAs('m1');
    bench.clock.jump(23 * HOUR + MINUTE);
    await outbox.settle();
    expect([await bench.stateOf(id), bench.calls.length]).toEqual(['unknown', 2]);
  });

  it('is not mistaken for one that the service asked to wait for an hour', async () => {
    const id = await bench.queueText(await bench.addConnection(), 'Hello');
    bench.answer = () => {
      throw new ServiceRefusal({ status: 429, code: 'rate_limited', retryAfterMs: HOUR });
    };
    const outbox = await bench.running();
    await outbox.settle();
    await bench.clock.skip(HOUR - 1);
    await outbox.settle();
    expect(bench.calls).toHaveLength(1);
    bench.answer = () => sentAs('m1');
    await bench.clock.skip(1);
    await outbox.settle();
    expect(await bench.stateOf(id)).toBe('sent');
  });
});

it('a clock a day ahead gives up no send: the last poll, by the clock of the service, must agree', async () => {
  const id = await bench.queueText(await bench.addConnection(), 'Hello');
  const outbox = await bench.running();
  bench.answer = () => refuse('send_failed');
  await outbox.settle();
  const polled = (at: number) =>
    bench.database.query(
      `insert into connector.poll_states (account_id, last_good_reference) values ($1, $2)
       on conflict (account_id) do update set last_good_reference = excluded.last_good_reference`,
      [ACCOUNT, at],
    );
  onTestFinished(async () => void (await bench.database.query('delete from connector.poll_states')));
  await polled(bench.clock.now());
  bench.clock.jump(24 * HOUR);
  await outbox.settle();
  expect([await bench.stateOf(id), bench.calls.length]).toEqual(['queued', 1]);
  await polled(bench.clock.now());
  await outbox.settle();
  expect([await bench.stateOf(id), bench.calls.length]).toEqual(['rejected', 1]);
});

it('the metrics count attempts by outcome, and sends by how they end, and measure attempts in seconds', async () => {
  const metrics = createMetrics();
  const outbox = bench.process({ metrics: createOutboxMetrics(metrics) });
  await outbox.start();
  await bench.queueText(await bench.addConnection(), 'slow');
  bench.answer = async () => {
    await bench.clock.skip(3_000);
    return lose();
  };
  await outbox.settle();
  bench.answer = () => sentAs('m1');
  await bench.sendAll(outbox, 2);
  const counted = async (name: string) =>
    (await metrics.read(name)).flatMap(({ labels, value }) => (value === 0 ? [] : { ...labels, value }));
  expect(await counted('connector_send_attempts_total')).toEqual([
    { outcome: 'accepted', value: 1 },
    { outcome: 'lost', value: 1 },
  ]);
  expect(await counted('connector_sends_finished_total')).toEqual([{ state: 'sent', value: 1 }]);
  // A send that the API cancels is not counted, so no figure says that none was.
  expect((await metrics.read('connector_sends_finished_total')).map(({ labels }) => labels['state'])).toEqual(
    ['sent', 'rejected', 'unknown', 'delivered_not_stored'],
  );
  expect(await counted('connector_send_seconds_sum')).toEqual([{ value: 3 }]);
});

describe('a lost answer', () => {
  it('repeats a text with its key, and accepts the later answer', async () => {
    const id = await bench.queueText(await bench.addConnection(), 'maybe');
    bench.answer = lose;
    const outbox = await bench.running();
    const firstAt = bench.clock.now();
    await outbox.settle();
    expect(await bench.read(id)).toMatchObject({ state: 'queued', lastError: 'network' });
    bench.answer = () => sentAs('found-out');
    await bench.sendAll(outbox, 2);
    expect(await bench.read(id)).toMatchObject({ state: 'sent', messageId: 'found-out', attempts: 2 });
    expect(new Set(bench.calls.map((call) => call.idempotencyKey)).size).toBe(1);
    // The contact may have had it since the first attempt.
    const select = `select created_at as "createdAt" from connector.messages where id = 'found-out'`;
    expect(await bench.database.query(select)).toEqual([{ createdAt: firstAt }]);
    expect(bench.clock.now()).toBeGreaterThan(firstAt);
  });

  it('is unknown 23 hours after the first attempt, and not attempted later', async () => {
    const id = await bench.queueText(await bench.addConnection(), 'maybe');
    bench.answer = lose;
    const outbox = await bench.running();
    await bench.sendAll(outbox);
    await outbox.close();
    await bench.clock.skip(23 * HOUR + 1);
    const calls = bench.calls.length;
    await bench.sendAll(await bench.running());
    expect(await bench.read(id)).toMatchObject({ state: 'unknown', attempts: calls });
    expect(bench.calls.length).toBe(calls);
  });

  it.each([404, 403, 400, 405, 302, 308, 425, 499])(
    'is also a %i without a code of the service: the send is repeated with its key',
    async (status) => {
      bench.answer = () => (bench.calls.length === 1 ? refuse(`http_${status}`, status) : sentAs('m1'));
      const id = await bench.queueText(await bench.addConnection(), 'Hello');
      await bench.sendAll(await bench.running(), 2);
      expect(await bench.read(id)).toMatchObject({ state: 'sent', attempts: 2 });
      expect(new Set(bench.calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    },
  );

  it('is given up after an hour if a proxy refuses the text and lets polls through, and the queue goes on', async () => {
    const connectionId = await bench.addConnection();
    const [id, next] = [
      await bench.queueText(connectionId, '<script>'),
      await bench.queueText(connectionId, 'Hello'),
    ];
    bench.answer = ({ text }) => (text === 'Hello' ? sentAs('m1') : refuse('http_403', 403));
    onTestFinished(async () => void (await bench.database.query('delete from connector.poll_states')));
    const noted = (column: string) =>
      bench.database.query(
        `insert into connector.poll_states (account_id, ${column}) values ($1, $2)
         on conflict (account_id) do update set ${column} = excluded.${column}`,
        [ACCOUNT, bench.clock.now()],
      );
    await noted('last_error_at');
    const outbox = await bench.running();
    await bench.sendAll(outbox);
    await bench.clock.skip(HOUR - 1);
    await noted('last_good_at');
    await outbox.settle();
    expect([await bench.stateOf(id), await bench.stateOf(next)]).toEqual(['queued', 'queued']);
    await bench.sendAll(outbox, 2);
    expect(await bench.read(id)).toMatchObject({ state: 'unknown', lastError: 'http_403' });
    expect(await bench.stateOf(next)).toBe('sent');
  });

  it('makes a refusal of the next attempt unknown', async () => {
    const id = await bench.queueText(await bench.addConnection(), 'maybe');
    bench.answer = lose;
    const outbox = await bench.running();
    await bench.sendAll(outbox);
    bench.answer = () => refuse('license_inactive', 402);
    await bench.sendAll(outbox, 2);
    expect(await bench.read(id)).toMatchObject({ state: 'unknown', lastError: 'license_inactive' });
  });

  it('is never repeated if the message was sent but not stored', async () => {
    proves('messages.send.degraded-no-retry');
    const id = await bench.queueText(await bench.addConnection(), 'once');
    bench.answer = () => ({ messageId: null, waMessageId: null, status: 'sent', persisted: false });
    await bench.sendAll(await bench.running(), 3);
    expect(await bench.read(id)).toMatchObject({ state: 'delivered_not_stored', messageId: null });
    expect(bench.calls).toHaveLength(1);
  });
});

describe('a service that becomes available again', () => {
  const unreachable = (): never => {
    throw new ServiceUnreachable('connect');
  };

  /** Lets an outage last, with every attempt that comes due. */
  async function last(outbox: Outbox, ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 5_000) {
      await outbox.settle();
      await bench.clock.advance(5_000);
    }
  }

  it('receives a send that never reached it within seconds, after an outage of ten minutes', async () => {
    const [textual, filed] = [await bench.addConnection(), await bench.addConnection()];
    const ids = [await bench.queueText(textual, 'at last'), await bench.queueFile(filed)];
    const outbox = await bench.running();
    bench.answer = unreachable;
    await last(outbox, 10 * MINUTE);
    bench.answer = ({ connectionId }) => sentAs(`back-${connectionId}`);
    await last(outbox, 5_000);
    await outbox.settle();
    for (const id of ids) expect(await bench.read(id)).toMatchObject({ state: 'sent' });
  });

  it('receives what waits after lost answers as soon as it answers a poll', async () => {
    const connectionId = await bench.addConnection();
    const id = await bench.queueText(connectionId, 'in doubt');
    const outbox = await bench.running();
    bench.answer = lose;
    await last(outbox, 5 * MINUTE);
    await outbox.settle();
    const { attempts, nextAttemptAt } = await bench.read(id);
    expect(Date.parse(nextAttemptAt ?? '')).toBeGreaterThan(bench.clock.now());
    bench.answer = () => sentAs(`found-${connectionId}`);
    await outbox.resumeSends(ACCOUNT);
    await outbox.settle();
    expect(await bench.read(id)).toMatchObject({ state: 'sent', attempts: attempts + 1 });
    expect(new Set(bench.calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
  });

  it('receives what a process that died has left as soon as it answers a poll', async () => {
    const id = await bench.queueText(await bench.addConnection(), 'left');
    const first = await bench.running();
    const lost = Promise.withResolvers<ReturnType<typeof sentAs>>();
    bench.answer = () => lost.promise;
    void first.settle();
    await expect.poll(() => bench.calls.length).toBe(1);
    await bench.bury(first);
    bench.answer = () => sentAs('m1');
    const second = await bench.running();
    await second.settle();
    expect(await bench.read(id)).toMatchObject({ state: 'queued', attempts: 1, lastError: 'abandoned' });
    await second.resumeSends(ACCOUNT);
    await second.settle();
    lost.resolve(sentAs('m1'));
    expect(await bench.read(id)).toMatchObject({ state: 'sent', attempts: 2 });
  });

  it('receives the sends of all connections of an account once it answers one of them', async () => {
    const connections = await Promise.all(['a', 'b', 'c'].map(() => bench.addConnection()));
    const ids = await Promise.all(connections.map((connectionId) => bench.queueText(connectionId, 'wait')));
    const outbox = await bench.running();
    bench.answer = lose;
    await last(outbox, 5 * MINUTE);
    await outbox.settle();
    bench.answer = ({ connectionId }) => sentAs(`back-${connectionId}`);
    bench.notifier.notified = [];
    await bench.queueText(await bench.addConnection(), 'the first that is answered');
    await outbox.settle();
    const woken = (): unknown =>
      bench.notifier.notified
        .filter(({ delayMs }) => delayMs === 0)
        .map(({ key }) => key)
        .sort();
    await expect.poll(woken).toEqual(connections.toSorted());
    await outbox.settle();
    for (const id of ids) expect(await bench.read(id)).toMatchObject({ state: 'sent' });

    const [lost = '', answered = ''] = connections;
    bench.answer = ({ connectionId }) => (connectionId === lost ? lose() : sentAs(newId()));
    const late = await bench.queueText(lost, 'lost after the outage');
    await outbox.settle();
    bench.notifier.notified = [];
    await bench.queueText(answered, 'answered after the outage');
    await outbox.settle();
    await outbox.settle();
    expect(woken()).not.toContain(lost);
    expect(await bench.read(late)).toMatchObject({ state: 'queued', attempts: 1 });
  });

  it('was never away if it answers other sends: one whose answers are lost keeps its waits', async () => {
    const [lost, answered] = [await bench.addConnection(), await bench.addConnection()];
    await bench.queueText(lost, 'cut off');
    const outbox = await bench.running();
    bench.answer = ({ connectionId }) => (connectionId === lost ? lose() : sentAs(newId()));
    for (let second = 0; second < 60; second += 1) {
      await outbox.settle();
      await bench.queueText(answered, `${second}`);
      await outbox.settle();
      await bench.clock.skip(1_000);
    }
    // After 1, 2, 4 and then each 5 s.
    expect(bench.calls.filter(({ connectionId }) => connectionId === lost)).toHaveLength(14);
  });

  it('is not called before the time that it asked for, or for what it refuses', async () => {
    const waits = await Promise.all(
      [
        { code: 'warmup_limited', status: 429 },
        { code: 'rate_limited', status: 429 },
        { code: 'send_failed', status: 502 },
        { code: 'in_progress', status: 409 },
        { code: 'http_503', status: 503, retryAfterMs: MINUTE },
      ].map(async (refusal) => ({ ...refusal, connectionId: await bench.addConnection() })),
    );
    const ids = await Promise.all(waits.map(({ connectionId }) => bench.queueText(connectionId, 'later')));
    const outbox = await bench.running();
    bench.answer = ({ connectionId }) => {
      const wait = waits.find((each) => each.connectionId === connectionId);
      return refuse(String(wait?.code), wait?.status, wait?.retryAfterMs);
    };
    await outbox.settle();
    const before = await Promise.all(ids.map((id) => bench.read(id)));
    await outbox.resumeSends(ACCOUNT);
    await outbox.settle();
    expect(await Promise.all(ids.map((id) => bench.read(id)))).toEqual(before);
  });
});

it('a queue keeps its lease for the sends of the next minute', async () => {
  const connectionId = await bench.addConnection();
  const outbox = await bench.running();
  const sendOne = async () => {
    await bench.queueText(connectionId, 'hello');
    await outbox.settle();
    return await bench.database.query('select * from connector.leases where name = $1', [
      `send:${connectionId}`,
    ]);
  };
  const [lease, ...others] = await sendOne();
  expect([lease, others]).toEqual([expect.objectContaining({ owner: outbox.presence.id }), []]);
  await bench.clock.skip(MINUTE - 1);
  expect(await sendOne()).toEqual([lease]);
  await bench.clock.skip(MINUTE);
  await outbox.settle();
  expect(await sendOne()).not.toEqual([lease]);
  expect(bench.calls).toHaveLength(3);
});

describe('a queue that its own process could not release', () => {
  it('continues after the next heartbeat', async () => {
    const connectionId = await bench.addConnection();
    let failing = false;
    const database = aroundQueries(bench.database, (text, run) =>
      failing && text.includes('DELETE FROM connector.leases')
        ? Promise.reject(new Error('the database is away'))
        : run(),
    );
    const process = bench.process({ database });
    await process.start();
    failing = true;
    await bench.queueText(connectionId, 'one');
    await process.settle();
    await bench.clock.skip(MINUTE);
    await process.settle();
    const id = await bench.queueText(connectionId, 'two');
    await process.settle();
    expect(await bench.read(id)).toMatchObject({ state: 'queued', attempts: 0 });
    failing = false;
    await process.presence.beat();
    await expect.poll(() => bench.stateOf(id)).toBe('sent');
  });
});

describe('a process that has stopped', () => {
  it('leaves an attempt that counts as lost once the process is taken for dead', async () => {
    const id = await bench.queueText(await bench.addConnection(), 'maybe');
    const stuck = Promise.withResolvers<never>();
    const dying = bench.process();
    await dying.start();
    const called = Promise.withResolvers<void>();
    bench.answer = () => {
      called.resolve();
      return stuck.promise;
    };
    const dead = dying.settle();
    await called.promise;
    const other = await bench.running();
    bench.answer = () => sentAs('taken-over');
    await other.settle();
    expect(await bench.read(id)).toMatchObject({ state: 'sending', attempts: 1 });

    await bench.bury(dying);
    await bench.sendAll(other, 2);
    expect(await bench.read(id)).toMatchObject({ state: 'sent', messageId: 'taken-over', attempts: 2 });

    // The dead one comes to life again, with a refusal that no longer counts.
    stuck.reject(new ServiceRefusal({ status: 422, code: 'recipient_not_on_whatsapp' }));
    await dead;
    expect(await bench.read(id)).toMatchObject({ state: 'sent', messageId: 'taken-over' });
  });

  it('aborts a call eight seconds after it was asked to stop, and leaves the send in doubt', async () => {
    const connectionId = await bench.addConnection();
    const id = await bench.queueText(connectionId, 'slow');
    const called = Promise.withResolvers<void>();
    bench.answer = (_body, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new ServiceUnreachable('aborted')));
        called.resolve();
      });
    const stopping = await bench.running();
    const settled = stopping.settle();
    await called.promise;
    const closed = stopping.close();
    await bench.clock.advance(7_999);
    expect(await bench.read(id)).toMatchObject({ state: 'sending' });
    await bench.clock.advance(1);
    await Promise.all([closed, settled]);
    expect(await bench.read(id)).toMatchObject({ state: 'queued', lastError: 'aborted' });
    bench.answer = () => sentAs(`later-${connectionId}`);
    await bench.sendAll(await bench.running(), 2);
    expect(await bench.read(id)).toMatchObject({ state: 'sent', attempts: 2 });
    expect(new Set(bench.calls.map((call) => call.idempotencyKey)).size).toBe(1);
  });

  it('releases its queues if it stops gracefully', async () => {
    const first = await bench.running();
    const id = await bench.queueText(await bench.addConnection(), '1');
    await first.close();
    await bench.sendAll(await bench.running());
    expect(await bench.read(id)).toMatchObject({ state: 'sent' });
  });
});
