import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createReconciler, type Reconciler } from '../../../src/connector/reconcile/reconciler.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { ManualQueues } from '../support/manual-queues.ts';
import { ACCOUNT, openPollBench, type PollBench } from '../support/poll-bench.ts';

let bench: PollBench;
let queues: ManualQueues;
let reconciler: Reconciler;

beforeEach(async () => {
  bench = await openPollBench();
  queues = new ManualQueues();
  reconciler = createReconciler({ ...bench.poller, queues, intervalMs: 45_000 });
  bench.service.addConnection('c1');
});
afterEach(async () => {
  await reconciler.close();
  await bench.close();
});

const run = (reason?: string) =>
  queues.run('reconcile', { accountId: ACCOUNT, ...(reason === undefined ? {} : { reason }) });

describe('the schedule', () => {
  it('has each account once, with jitter, and begins at once', async () => {
    await reconciler.start();
    expect(queues.schedules).toEqual([{ key: ACCOUNT, everyMs: 45_000, jitter: 0.1 }]);
    expect(queues.wakes).toMatchObject([{ data: { accountId: ACCOUNT }, delayMs: 0 }]);
  });

  it('leaves out accounts that are none of this process', async () => {
    const other = createReconciler({ ...bench.poller, queues, intervalMs: 45_000, polls: () => false });
    await other.start();
    expect(queues.schedules).toEqual([]);
    await run();
    expect(await other.syncNow(ACCOUNT)).toEqual({ kind: 'idle' });
    expect(bench.service.requests).toEqual([]);
  });

  it('polls when its job comes', async () => {
    await reconciler.start();
    const message = bench.service.addMessage('c1', bench.clock.now());
    await run();
    expect(await bench.storedIds()).toEqual([message.id]);
  });

  it('polls soon after an event, once for many', async () => {
    await reconciler.pollSoon(ACCOUNT);
    await reconciler.pollSoon(ACCOUNT);
    expect(queues.wakes.map(({ jobId }) => jobId)).toEqual([`event-${ACCOUNT}`, `event-${ACCOUNT}`]);
    expect(queues.wakes[0]?.delayMs).toBe(1_000);
  });

  it('looks again when an event came during a poll that may have listed before', async () => {
    await reconciler.start();
    const gate = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    bench.service.onRequest = async () => {
      reached.resolve();
      await gate.promise;
    };
    const polling = run();
    await reached.promise;
    queues.wakes = [];
    await run('event');
    expect(queues.wakes).toMatchObject([{ jobId: `event-${ACCOUNT}`, delayMs: 3_000 }]);
    await run();
    expect(queues.wakes).toHaveLength(1);
    gate.resolve();
    await polling;
  });

  /** Each request takes as long as one of a distant service; a cycle goes on while its ten seconds last. */
  const takeTime = () => {
    bench.service.onRequest = () => bench.clock.advance(100);
  };

  it('reads more than a cycle holds while the service is quick', async () => {
    await reconciler.start();
    bench.service.pageSize = 1;
    for (let index = 0; index < 150; index += 1)
      bench.service.addMessage('c1', bench.clock.now() + index * 60_000);
    queues.wakes = [];
    await run();
    expect(queues.wakes).toEqual([]);
    expect(await bench.storedIds()).toHaveLength(150);
  });

  it('goes on at once while it catches up', async () => {
    await reconciler.start();
    takeTime();
    bench.service.pageSize = 1;
    for (let index = 0; index < 250; index += 1)
      bench.service.addMessage('c1', bench.clock.now() + index * 60_000);
    queues.wakes = [];
    await run();
    expect(queues.wakes).toMatchObject([{ jobId: `continue-${ACCOUNT}`, delayMs: 0 }]);
    await run('continue');
    queues.wakes = [];
    await run('continue');
    expect(queues.wakes).toEqual([]);
    expect(await bench.storedIds()).toHaveLength(250);
  });

  it('does not hurry for ever when the overlap alone is more than a cycle reads', async () => {
    await reconciler.start();
    takeTime();
    bench.service.pageSize = 1;
    for (let index = 0; index < 130; index += 1) bench.service.addMessage('c1', bench.clock.now() + index);
    for (let periods = 0; periods < 4; periods += 1) {
      let cycles = 0;
      do {
        queues.wakes = [];
        await run();
        cycles += 1;
      } while (queues.wakes.length > 0 && cycles < 5);
      expect(cycles).toBeLessThanOrEqual(2);
    }
    expect(await bench.storedIds()).toHaveLength(130);
  });

  it('comes back when the service said so, if that is before the next period', async () => {
    await reconciler.start();
    queues.wakes = [];
    bench.service.fault = () => ({
      status: 429,
      body: { error: 'rate_limited' },
      headers: { 'retry-after': '7' },
    });
    await run();
    expect(queues.wakes).toMatchObject([{ jobId: `retry-${ACCOUNT}`, delayMs: 7_000 }]);
    queues.wakes = [];
    bench.service.fault = () => ({
      status: 429,
      body: { error: 'rate_limited' },
      headers: { 'retry-after': '60' },
    });
    await bench.clock.advance(7_000);
    await run();
    expect(queues.wakes).toEqual([]);
  });

  it('outlives a queue and a database that are away', async () => {
    await reconciler.start();
    queues.failing = true;
    await reconciler.pollSoon(ACCOUNT);
    await bench.database.close();
    await run();
  });
});

describe('a poll on demand', () => {
  it('answers when every gap is closed and every status looked at', async () => {
    const message = bench.service.addMessage('c1', bench.clock.now() - 3_600_000, {
      direction: 'outgoing',
      status: 'sent',
    });
    for (let index = 0; index < 400; index += 1)
      bench.service.addMessage('c1', bench.clock.now() - 1_800_000 + index);
    bench.service.addMessage('c1', bench.clock.now());
    expect(await reconciler.syncNow(ACCOUNT)).toEqual({ kind: 'closed' });
    message.status = 'read';
    expect(await reconciler.syncNow(ACCOUNT)).toEqual({ kind: 'closed' });
    const status = 'select status from connector.messages where id = $1';
    expect(await bench.database.query(status, [message.id])).toEqual([{ status: 'read' }]);
  });

  it('is not satisfied with a poll that was under way', async () => {
    const impatient = createReconciler({ ...bench.poller, clock: systemClock, queues, intervalMs: 45_000 });
    const gate = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    bench.service.onRequest = async ({ path }) => {
      if (path !== '/messages') return;
      reached.resolve();
      await gate.promise;
    };
    // It has asked for the newest page already; this service answers with what it has when it is let go.
    const first = bench.poll();
    await reached.promise;
    const asked = impatient.syncNow(ACCOUNT);
    const joined = impatient.syncNow(ACCOUNT);
    gate.resolve();
    await first;
    const message = bench.service.addMessage('c1', bench.clock.now());
    expect(await asked).toEqual({ kind: 'closed' });
    expect(await joined).toEqual({ kind: 'closed' });
    expect(await bench.storedIds()).toEqual([message.id]);
    await impatient.close();
  });

  it('shares one run among all who ask while another is under way', async () => {
    await Promise.all(Array.from({ length: 10 }, () => reconciler.syncNow(ACCOUNT)));
    expect(bench.service.countRequests('/connections')).toBe(2);
  });

  it('tells a refused key from a service that does not answer', async () => {
    bench.service.fault = () => ({ status: 403, body: { error: 'ip_not_allowed' } });
    expect(await reconciler.syncNow(ACCOUNT)).toEqual({ kind: 'refused', code: 'ip_not_allowed' });
    bench.service.fault = () => undefined;
    bench.service.apiKeys.clear();
    expect(await reconciler.syncNow(ACCOUNT)).toEqual({ kind: 'refused', code: 'invalid_key' });
  });

  it('passes over failures that pass', async () => {
    const real = createReconciler({ ...bench.poller, clock: systemClock, queues, intervalMs: 45_000 });
    let requests = 0;
    bench.service.fault = () => (++requests <= 1 ? 'reset' : undefined);
    expect(await real.syncNow(ACCOUNT)).toEqual({ kind: 'closed' });
    bench.service.fault = () => ({ status: 500, body: { error: 'internal_error' } });
    expect(await real.syncNow(ACCOUNT)).toEqual({ kind: 'refused', code: 'internal_error' });
    await real.close();
  });

  it('does not sit out a long wait that the service asks for', async () => {
    bench.service.fault = () => ({
      status: 429,
      body: { error: 'rate_limited' },
      headers: { 'retry-after': '60' },
    });
    expect(await reconciler.syncNow(ACCOUNT)).toEqual({ kind: 'rate_limited', retryAfterMs: 60_000 });
    bench.service.requests = [];
    await bench.clock.advance(30_000);
    expect(await reconciler.syncNow(ACCOUNT)).toEqual({ kind: 'rate_limited', retryAfterMs: 30_000 });
    expect(bench.service.requests).toEqual([]);
  });

  it('ends when time is up, and what was read stays', async () => {
    for (let index = 0; index < 300; index += 1) bench.service.addMessage('c1', bench.clock.now() + index);
    const reached = Promise.withResolvers<void>();
    bench.service.fault = ({ query }) => {
      if (!query.has('cursor')) return undefined;
      reached.resolve();
      return 'hang';
    };
    const asked = reconciler.syncNow(ACCOUNT);
    await reached.promise;
    await bench.clock.advance(19_999);
    await bench.clock.advance(120_000);
    expect(await asked).toEqual({ kind: 'unfinished' });
    expect(await bench.storedIds()).toHaveLength(100);
  });

  it('ends when the process stops', async () => {
    const reached = Promise.withResolvers<void>();
    bench.service.fault = () => {
      reached.resolve();
      return 'hang';
    };
    const asked = reconciler.syncNow(ACCOUNT);
    await reached.promise;
    await reconciler.close();
    expect(await asked).toEqual({ kind: 'unfinished' });
    await reconciler.settle();
    await bench.poller.presence.stop();
    expect(bench.clock.pending).toBe(0);
  });
});
