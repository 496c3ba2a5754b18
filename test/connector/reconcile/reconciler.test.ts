import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readPollState } from '../../../src/connector/accounts/poll-state.ts';
import {
  createReconciler,
  type Reconciler,
  type ReconcilerOptions,
} from '../../../src/connector/reconcile/reconciler.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { ManualNotifier } from '../support/manual-notifier.ts';
import { ACCOUNT, openPollBench, pollBenchOfTest } from '../support/poll-bench.ts';

const bench = pollBenchOfTest();
let notifier: ManualNotifier;
let reconciler: Reconciler;
let options: ReconcilerOptions;

beforeEach(async () => {
  notifier = new ManualNotifier();
  options = { ...bench.poller, notifier, intervalMs: 45_000 };
  reconciler = createReconciler(options);
  bench.service.addConnection('c1');
});
afterEach(() => reconciler.close());

async function startAndSettle(): Promise<void> {
  await reconciler.start();
  await reconciler.settle();
}
const readDueIn = async (): Promise<number | null | undefined> => {
  const [row] = await bench.database.query<{ due: number | null }>(
    'select due_at as due from connector.poll_states where account_id = $1',
    [ACCOUNT],
  );
  return row === undefined || row.due === null ? row?.due : row.due - bench.clock.now();
};
/** Holds the requests to a path, or all, until the gate is opened. */
const holdRequests = (held?: string) => {
  const gate = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  bench.service.onRequest = async ({ path }) => {
    if (held !== undefined && path !== held) return;
    reached.resolve();
    await gate.promise;
  };
  return { gate, reached };
};
const countPolls = (): number => bench.service.countRequests('/connections');
async function pollsAfter(ms: number): Promise<number> {
  await bench.clock.advance(ms);
  await reconciler.settle();
  return countPolls();
}

describe('the polling period', () => {
  it('begins immediately, and each account is due again after it, with a random deviation', async () => {
    await reconciler.start();
    expect(notifier.notified).toEqual([{ topic: 'poll', key: ACCOUNT, delayMs: 0 }]);
    await reconciler.settle();
    expect(countPolls()).toBe(1);
    expect(await readDueIn()).toBe(40_500);
    expect(notifier.notified.at(-1)).toEqual({ topic: 'poll', key: ACCOUNT, delayMs: 40_500 });
    const late = createReconciler({ ...options, random: () => 1 });
    await bench.clock.advance(40_500);
    await reconciler.close();
    await late.start();
    await late.settle();
    expect(await readDueIn()).toBe(49_500);
    await late.close();
  });

  it('shows how long it takes, how long it waits after a failure, and when it last succeeded, in seconds', async () => {
    const shown = async (name: string) => (await bench.metrics.read(name)).map(({ value }) => value);
    bench.service.fault = () => 'reset';
    await bench.poll();
    expect(await shown('connector_poll_back_off_seconds')).toEqual([2]);
    bench.service.fault = () => undefined;
    await bench.clock.advance(2_000);
    await bench.poll();
    expect(await shown('connector_poll_back_off_seconds')).toEqual([0]);
    expect(await shown('connector_poll_last_good_timestamp_seconds')).toEqual([bench.clock.now() / 1_000]);
    bench.service.onRequest = () => void bench.clock.skip(500);
    await bench.poll();
    expect(await shown('connector_poll_seconds_sum')).toEqual([1, 0]);
    bench.service.fault = () => 'reset';
    await bench.poll();
    expect(await shown('connector_poll_seconds_sum')).toEqual([1, 0.5]);
  });

  it('leaves no figure of an account that was removed', async () => {
    const measured = async () =>
      (
        await Promise.all(
          ['coverage_lag', 'service_ahead', 'poll_back_off', 'poll_last_good_timestamp'].map((name) =>
            bench.metrics.read(`connector_${name}_seconds`),
          ),
        )
      ).flat();
    bench.service.addMessage('c1', bench.clock.now());
    await startAndSettle();
    expect(await measured()).toHaveLength(4);
    reconciler.end(ACCOUNT);
    expect([...(await measured()), ...(await bench.metrics.read('connector_open_statuses'))]).toEqual([]);
  });

  it('continues after a restart when it is due, and asks for no sweep of what was swept', async () => {
    await startAndSettle();
    await reconciler.close();
    await bench.clock.advance(10_000);
    const restarted = createReconciler(options);
    await restarted.start();
    await restarted.settle();
    expect(countPolls()).toBe(1);
    expect(await readDueIn()).toBe(30_500);
    expect(await readPollState(bench.database, ACCOUNT)).toMatchObject({ needsFullSweep: false });
    await restarted.close();
  });

  it('polls after two periods what another process planned that was ahead and died', async () => {
    await startAndSettle();
    await bench.database.query('update connector.poll_states set due_at = due_at + 3600000');
    await reconciler.settle();
    expect(await pollsAfter(89_000)).toBe(1);
    expect(await pollsAfter(1_000)).toBe(2);
    expect(await readDueIn()).toBe(40_500);
  });

  it('leaves an account to a process whose clock is an hour ahead as long as that plans', async () => {
    await startAndSettle();
    for (let periods = 0; periods < 5; periods += 1) {
      await bench.database.query('update connector.poll_states set due_at = $1', [
        bench.clock.now() + 3_645_000 + periods,
      ]);
      await reconciler.settle();
      await bench.clock.advance(45_000);
      await reconciler.settle();
    }
    expect(countPolls()).toBe(1);
  });

  it.each(['after a good poll', 'after a failure'])(
    'does not wait for a time that it planned before its clock was set back, %s',
    async (after) => {
      bench.service.fault = () => (after === 'after a failure' ? 'reset' : undefined);
      await startAndSettle();
      expect(countPolls()).toBe(1);
      bench.clock.jump(-3_600_000);
      await reconciler.settle();
      expect(await pollsAfter(90_000)).toBe(2);
    },
  );

  it('waits as long as the service has asked, also if that is an hour', async () => {
    bench.service.fault = () => ({ status: 429, body: {}, headers: { 'retry-after': '3600' } });
    await startAndSettle();
    await bench.clock.skip(3_500_000);
    await reconciler.settle();
    expect(countPolls()).toBe(1);
    await bench.clock.skip(200_000);
    await reconciler.settle();
    expect(countPolls()).toBe(2);
  });

  it('spreads what was due together over the next period', async () => {
    await startAndSettle();
    expect(await pollsAfter(60_000)).toBe(2);
    // The earliest time that is possible; at its latest it would be 49,500.
    expect(await readDueIn()).toBe(4_500);
  });

  it('leaves out accounts of other processes', async () => {
    const other = createReconciler({ ...options, mayUse: () => false });
    await other.start();
    expect(notifier.notified).toEqual([]);
    await notifier.deliver('poll', ACCOUNT);
    await other.settle();
    expect(await other.syncNow(ACCOUNT)).toEqual({ kind: 'idle' });
    expect(bench.service.requests).toEqual([]);
    await other.close();
  });

  it('is cut short by a notification, and two notifications cause one poll', async () => {
    await reconciler.start();
    const message = bench.service.addMessage('c1', bench.clock.now());
    await notifier.deliver('poll', ACCOUNT);
    await reconciler.settle();
    await notifier.deliver('poll', ACCOUNT);
    await reconciler.settle();
    expect(await bench.storedIds()).toEqual([message.id]);
    expect(countPolls()).toBe(1);
  });

  it('continues without notifications', async () => {
    await startAndSettle();
    notifier.failing = true;
    await bench.clock.advance(40_500);
    // A look has a statement of its own, and the next one is set when that has ended.
    for (let looks = 0; looks < 20 && countPolls() < 2; looks += 1) await bench.clock.advance(5_000);
    await reconciler.settle();
    expect(countPolls()).toBeGreaterThanOrEqual(2);
  });

  it('is shared by processes: one polls, and the others find nothing due', async () => {
    const other = createReconciler(options);
    await reconciler.start();
    await other.start();
    await Promise.all([reconciler.settle(), other.settle()]);
    const before = countPolls();
    await bench.clock.advance(40_500);
    await Promise.all([reconciler.settle(), other.settle()]);
    expect(countPolls()).toBe(before + 1);
    await other.close();
  });

  it('is cut short by an event, once for many events', async () => {
    await startAndSettle();
    await reconciler.pollSoon(ACCOUNT, { fullSweep: true });
    await bench.clock.advance(400);
    await reconciler.pollSoon(ACCOUNT);
    expect(await readDueIn()).toBe(600);
    expect(await readPollState(bench.database, ACCOUNT)).toMatchObject({ needsFullSweep: true });
    expect(notifier.notified.at(-1)).toEqual({ topic: 'poll', key: ACCOUNT, delayMs: 1_000 });
    expect(await pollsAfter(600)).toBe(2);
    expect(await readDueIn()).toBe(40_500);
  });

  it('begins again if an event arrived during a poll, which may have listed before', async () => {
    await reconciler.start();
    const { gate, reached } = holdRequests();
    const polling = reconciler.settle();
    await reached.promise;
    await bench.clock.advance(10);
    await reconciler.pollSoon(ACCOUNT);
    gate.resolve();
    await polling;
    expect(countPolls()).toBe(2);
    expect(await readDueIn()).toBe(40_500);
  });

  /** Each request takes as long as one of a distant service; a cycle goes on while its ten seconds last. */
  const takeTime = () => {
    bench.service.onRequest = () => bench.clock.advance(100);
  };
  /** Runs that ended with more to read. */
  const countBehind = (): number => notifier.notified.filter(({ delayMs }) => delayMs === 0).length;

  it('allows more reading than one cycle while the service is fast', async () => {
    await reconciler.start();
    bench.service.pageSize = 1;
    bench.service.addMessages('c1', 150, (index) => bench.clock.now() + index * 60_000);
    notifier.notified = [];
    await reconciler.settle();
    expect(countBehind()).toBe(0);
    expect(await bench.storedIds()).toHaveLength(150);
  });

  it('is skipped while a poll catches up', async () => {
    await reconciler.start();
    takeTime();
    bench.service.pageSize = 1;
    bench.service.addMessages('c1', 250, (index) => bench.clock.now() + index * 60_000);
    notifier.notified = [];
    await reconciler.settle();
    expect(countBehind()).toBeGreaterThan(0);
    expect(await bench.storedIds()).toHaveLength(250);
  });

  it('is not skipped repeatedly if the overlap alone is more than a cycle reads', async () => {
    await reconciler.start();
    takeTime();
    bench.service.pageSize = 1;
    bench.service.addMessages('c1', 130, (index) => bench.clock.now() + index);
    for (let periods = 0; periods < 2; periods += 1) {
      notifier.notified = [];
      await reconciler.settle();
      expect(countBehind()).toBeLessThanOrEqual(1);
      await bench.clock.advance(40_500);
    }
    expect(await bench.storedIds()).toHaveLength(130);
  });

  it.each([20, 60])('continues after the %i s that the service asks for', async (seconds) => {
    bench.service.fault = () => ({
      status: 429,
      body: { error: 'rate_limited' },
      headers: { 'retry-after': String(seconds) },
    });
    await startAndSettle();
    bench.service.fault = () => undefined;
    await reconciler.pollSoon(ACCOUNT);
    expect(await pollsAfter((seconds - 1) * 1_000)).toBe(1);
    expect(await readDueIn()).toBe(1_000);
    expect(await pollsAfter(1_000)).toBe(2);
  });

  it('makes no request for an account that was deleted', async () => {
    await reconciler.pollSoon('gone');
    expect(await bench.database.query(`select from connector.poll_states where account_id = 'gone'`)).toEqual(
      [],
    );
  });

  it('survives an outage of notifications and of the database', async () => {
    const own = await openPollBench();
    const alone = createReconciler({ ...own.poller, notifier, intervalMs: 45_000 });
    await alone.start();
    notifier.failing = true;
    await own.database.close();
    await expect(alone.pollSoon(ACCOUNT)).resolves.toBeUndefined();
    await expect(notifier.deliver('poll', ACCOUNT)).resolves.toBeUndefined();
    await alone.close();
    await own.close();
  });
});

describe('a poll on demand', () => {
  it('answers once every gap is closed and every open status was read', async () => {
    const message = bench.service.addSent('c1', bench.clock.now() - 3_600_000);
    bench.service.addMessages('c1', 400, (index) => bench.clock.now() - 1_800_000 + index);
    bench.service.addMessage('c1', bench.clock.now());
    expect(await reconciler.syncNow(ACCOUNT)).toEqual({ kind: 'closed' });
    message.status = 'read';
    expect(await reconciler.syncNow(ACCOUNT)).toEqual({ kind: 'closed' });
    const status = 'select status from connector.messages where id = $1';
    expect(await bench.database.query(status, [message.id])).toEqual([{ status: 'read' }]);
  });

  it('does not accept a poll that was already under way', async () => {
    const impatient = createReconciler({ ...options, clock: systemClock });
    const { gate, reached } = holdRequests('/messages');
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

  it('begins immediately after a scheduled poll of its own process', async () => {
    await reconciler.start();
    const { gate, reached } = holdRequests();
    const polling = reconciler.settle();
    await reached.promise;
    const asked = reconciler.syncNow(ACCOUNT);
    // By then it has met the lease of the poll.
    for (let round = 0; round < 10; round += 1) await bench.database.query('select 1');
    gate.resolve();
    await polling;
    expect(await asked).toEqual({ kind: 'closed' });
  });

  it('shares one run among all requests that arrive while another is under way', async () => {
    for (const runs of [1, 2]) {
      await Promise.all(Array.from({ length: 10 }, () => reconciler.syncNow(ACCOUNT)));
      expect(bench.service.countRequests('/connections')).toBe(runs);
    }
  });

  it('distinguishes a refused key from a service that does not answer', async () => {
    bench.service.fault = () => ({ status: 403, body: { error: 'ip_not_allowed' } });
    expect(await reconciler.syncNow(ACCOUNT)).toEqual({ kind: 'refused', code: 'ip_not_allowed' });
    bench.service.fault = () => undefined;
    bench.service.apiKeys.clear();
    expect(await reconciler.syncNow(ACCOUNT)).toEqual({ kind: 'refused', code: 'invalid_key' });
  });

  it('tolerates temporary failures', async () => {
    const real = createReconciler({ ...options, clock: systemClock });
    let requests = 0;
    bench.service.fault = () => (++requests <= 1 ? 'reset' : undefined);
    expect(await real.syncNow(ACCOUNT)).toEqual({ kind: 'closed' });
    bench.service.fault = () => ({ status: 500, body: { error: 'internal_error' } });
    expect(await real.syncNow(ACCOUNT)).toEqual({ kind: 'refused', code: 'internal_error' });
    await real.close();
  });

  it('does not wait as long as the service may ask for', async () => {
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

  it('ends at its deadline, and what was read stays', async () => {
    bench.service.addMessages('c1', 300, (index) => bench.clock.now() + index);
    const reached = Promise.withResolvers<void>();
    bench.service.fault = ({ query }) => {
      if (!query.has('cursor')) return undefined;
      reached.resolve();
      return 'hang';
    };
    const asked = reconciler.syncNow(ACCOUNT);
    await reached.promise;
    // The second page is requested before the first one is stored.
    await expect.poll(() => bench.storedIds()).toHaveLength(100);
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
