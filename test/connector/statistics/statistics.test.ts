import { beforeEach, expect, it } from 'vitest';
import { keepStatistics } from '../../../src/connector/statistics/keep-statistics.ts';
import { readStatistics } from '../../../src/connector/statistics/read-statistics.ts';
import { statistics } from '../../../src/contract/connector/statistics.ts';
import type { Queryable } from '../../../src/runtime/database/database.ts';
import { createMetrics } from '../../../src/runtime/metrics/metrics.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { databaseOfFile, silentLogger } from '../support/event-fixtures.ts';

const MINUTE_MS = 60_000;
const QUARTER_MS = 15 * MINUTE_MS;
const START = Date.parse('2026-03-02T10:00:00Z');

const database = databaseOfFile();
let clock: ManualClock;

beforeEach(async () => {
  clock = new ManualClock(START);
  await database.query('delete from connector.statistics');
});

/** A process with some of the metrics of a connector. */
function openProcess(store: Queryable = database) {
  const metrics = createMetrics();
  const counter = <Value extends string>(name: string, label: string, ...values: Value[]) =>
    metrics.counter(name, '-', { name: label, values });
  const outcomes = ['merged', 'unchanged'] as const;
  const deliveries = counter('connector_webhook_deliveries_total', 'outcome', ...outcomes);
  const refused = counter('connector_webhook_refused_total', 'reason', 'wrong_signature', 'method');
  const states = ['sent', 'delivered_not_stored', 'rejected', 'unknown', 'cancelled'] as const;
  const sends = counter('connector_sends_finished_total', 'state', ...states);
  const repaired = counter('connector_poll_repaired_total', 'what', 'message', 'status');
  const polls = metrics.histogram('connector_poll_seconds', '-', [1], {
    name: 'outcome',
    values: ['good', 'failed'],
  });
  const calls = metrics.counters('connector_consumer_calls_total', '-', 'consumer', {
    name: 'result',
    values: ['taken', 'failed', 'late', 'unavailable', 'disabled', 'stopped'],
  });
  const latency = metrics.histograms('connector_consumer_latency_seconds', '-', [1], 'consumer');
  const lag = metrics.gauge('connector_consumer_oldest_waiting_seconds', '-', ['consumer']);
  const parked = metrics.gauge('connector_consumer_parked', '-', ['consumer']);
  const lastSeq = metrics.gauge('connector_feed_last_seq', '-');
  const kept = keepStatistics({ database: store, clock, logger: silentLogger, metrics });
  return { deliveries, refused, sends, repaired, polls, calls, latency, lag, parked, lastSeq, ...kept };
}

/** The points of a range, by how many minutes after the start they begin. */
async function read(range: 'hour' | 'day' = 'hour') {
  const answer = await readStatistics(database, range, clock.now());
  expect(statistics.parse(answer)).toEqual(answer);
  return new Map(answer.points.map((point) => [(Date.parse(point.at) - START) / MINUTE_MS, point]));
}

it('adds up what several processes count, by the minute and by the quarter of an hour', async () => {
  const [first, second] = [openProcess(), openProcess()];
  first.deliveries.inc({ outcome: 'merged' }, 3);
  first.deliveries.inc({ outcome: 'unchanged' });
  second.refused.inc({ reason: 'wrong_signature' }, 2);
  second.polls.observe({ outcome: 'failed' }, 0.5);
  await first.runNow();
  await second.runNow();
  await first.runNow();
  await clock.skip(MINUTE_MS);
  second.deliveries.inc({ outcome: 'merged' });
  await second.runNow();
  const minutes = await read();
  expect([...minutes.keys()]).toEqual([0, 1]);
  expect(minutes.get(0)).toMatchObject({
    webhooks: { received: 4, unchanged: 1, refused: { wrong_signature: 2 } },
    polls: { good: 0, failed: 1, repaired: 0 },
  });
  expect(minutes.get(1)?.webhooks).toEqual({ received: 1, unchanged: 0, refused: {} });
  expect((await read('day')).get(0)?.webhooks.received).toBe(5);
});

it('says how many calls consumers took, and how long a change waited for them', async () => {
  const { calls, latency, runNow } = openProcess();
  const ofHandler = latency('handler');
  calls('handler').inc({ result: 'taken' }, 2);
  calls('crm').inc({ result: 'taken' });
  for (const result of ['failed', 'late', 'unavailable', 'disabled'] as const) calls('crm').inc({ result });
  calls('crm').inc({ result: 'stopped' });
  ofHandler.observe(0.5);
  ofHandler.observe(2);
  latency('crm').observe(6.5);
  await runNow();
  expect((await read()).get(0)?.consumers).toMatchObject({ taken: 3, failed: 4, latencySeconds: 3 });
});

it('says how many sends were accepted, whether or not they were stored, and what polls repaired', async () => {
  const { sends, repaired, runNow } = openProcess();
  for (const state of ['sent', 'delivered_not_stored', 'rejected', 'unknown', 'cancelled'] as const)
    sends.inc({ state });
  repaired.inc({ what: 'message' }, 2);
  repaired.inc({ what: 'status' });
  await runNow();
  const point = (await read()).get(0);
  expect(point).toMatchObject({ sends: { sent: 2, failed: 2 }, polls: { repaired: 3 } });
});

it('keeps the highest level of a slot, whichever process has seen it', async () => {
  const [first, second] = [openProcess(), openProcess()];
  first.lag.set({ consumer: 'handler' }, 7);
  first.lag.set({ consumer: 'crm' }, 40);
  first.parked.set({ consumer: 'handler' }, 1);
  first.parked.set({ consumer: 'crm' }, 2);
  await first.runNow();
  second.lag.set({ consumer: 'handler' }, 3);
  await second.runNow();
  expect((await read()).get(0)?.consumers).toMatchObject({ lagSeconds: 40, parked: 3, deadLetters: null });
});

it('shows 0 of a level that a process has read, and null of one that none has', async () => {
  const { parked, runNow } = openProcess();
  parked.set({ consumer: 'handler' }, 0);
  await runNow();
  expect((await read()).get(0)?.consumers).toMatchObject({ parked: 0, lagSeconds: null });
});

it('counts changes by their numbers once one is known, also since the slot before the range', async () => {
  const { lastSeq, runNow } = openProcess();
  lastSeq.set(100);
  await runNow();
  expect((await read()).get(0)?.changes).toBeNull();
  await clock.skip(60 * MINUTE_MS);
  lastSeq.set(130);
  await runNow();
  expect([...(await read())].map(([minute, { changes }]) => [minute, changes])).toEqual([[60, 30]]);
  await clock.skip(MINUTE_MS);
  // A feed that has begun anew.
  lastSeq.set(5);
  await runNow();
  expect((await read()).get(61)?.changes).toBe(0);
  await clock.skip(MINUTE_MS);
  // Numbers have jumped, because the database was restored.
  lastSeq.set(12 + 2 ** 32);
  await runNow();
  expect((await read()).get(62)?.changes).toBe(7);
});

it('keeps an hour by the minute and a day by the quarter, and leaves out when nobody counted', async () => {
  const { deliveries, lastSeq, runNow } = openProcess();
  lastSeq.set(1);
  deliveries.inc({ outcome: 'merged' });
  await runNow();
  await clock.skip(59 * MINUTE_MS);
  lastSeq.set(2);
  await runNow();
  expect([...(await read()).keys()]).toEqual([0, 59]);
  await clock.skip(25 * 60 * MINUTE_MS);
  lastSeq.set(5);
  await runNow();
  expect([...(await read('day')).keys()]).toEqual([26 * 60 - 1 - 14]);
  const [kept] = await database.query<{ oldest: number }>(
    'select min(slot)::bigint as oldest from connector.statistics',
  );
  expect(clock.now() - Number(kept?.oldest)).toBeLessThan(97 * QUARTER_MS);
});

it('adds every 5 s; what could not be written is added later', async () => {
  let isAway = true;
  const asked = Promise.withResolvers<void>();
  const store: Queryable = {
    async query(...call) {
      asked.resolve();
      if (isAway) throw new Error('away');
      return (await database.query(...call)) as never;
    },
  };
  const { deliveries, start, settle, stop } = openProcess(store);
  deliveries.inc({ outcome: 'merged' });
  start();
  await clock.advance(5_000);
  await asked.promise;
  await settle();
  expect((await read()).size).toBe(0);
  isAway = false;
  deliveries.inc({ outcome: 'merged' });
  await clock.advance(5_000);
  await settle();
  expect((await read()).get(0)?.webhooks.received).toBe(2);
  await stop();
});
