import { describe, expect, it, onTestFinished } from 'vitest';
import { createConsumerMetrics } from '../../../src/connector/consumers/consumer-metrics.ts';
import { readConsumers } from '../../../src/connector/consumers/consumer-store.ts';
import { createOutage } from '../../../src/connector/consumers/outage.ts';
import type { CallEnd, Sink, SinkCall } from '../../../src/connector/consumers/sinks/sink.ts';
import { createMetrics } from '../../../src/runtime/metrics/metrics.ts';
import { logTo } from '../../support/log-to.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { newId, silentLogger } from '../support/event-fixtures.ts';
import { consumerBenchOfFile } from './consumer-bench.ts';

const bench = consumerBenchOfFile();

const AWAY: CallEnd = { kind: 'unavailable', error: new Error('connect ECONNREFUSED') };

/** A consumer whose sink answers as a test says, and what is seen of it. */
async function openScripted(
  answer: (call: SinkCall) => CallEnd | Promise<CallEnd>,
  ofSink: Pick<Sink, 'whenLate'> = {},
) {
  const calls: { readonly connectionId: string | undefined; readonly attempt: number }[] = [];
  const lines: { readonly level: string; readonly msg: string }[] = [];
  const logger = logTo('info', (line) => lines.push(JSON.parse(line)));
  const metrics = createMetrics();
  const [row] = await readConsumers(bench.database);
  if (row === undefined) throw new Error('there is no consumer');
  const call: Sink['call'] = async (asked) => {
    calls.push({ connectionId: asked.changes[0]?.change.connectionId, attempt: asked.attempt });
    return await answer(asked);
  };
  const measured = { logger, metrics: createConsumerMetrics(metrics)('handler') };
  const consumer = await bench.consumer({ ...row, attempts: 2 }, { call, ...ofSink }, measured);
  onTestFinished(() => consumer.close());
  return { consumer, calls, lines, metrics };
}

/** What is written of changes that failed. */
function traces(): Promise<readonly number[]> {
  const count = async (table: string) =>
    (await bench.database.query(`select from connector.${table}`)).length;
  return Promise.all(['parked', 'parked_entries', 'dead_letters'].map(count));
}

describe('a consumer that is unavailable', () => {
  it('is tried with one call after 1, 2, 4, 8, 16, 30 and 30 s, and nothing is counted or parked', async () => {
    const connections = Array.from({ length: 5 }, newId);
    for (const connection of connections) await bench.tell(connection, 'a', 'b');
    const { consumer, calls } = await openScripted(() => AWAY);
    await consumer.settle();
    const begun = calls.length;
    expect(begun).toBeLessThanOrEqual(5);
    for (const [tries, waitMs] of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000].entries()) {
      await bench.pass(waitMs - 1, consumer);
      expect(calls).toHaveLength(begun + tries);
      await bench.pass(1, consumer);
      expect(calls).toHaveLength(begun + tries + 1);
    }
    expect(new Set(calls.map(({ attempt }) => attempt))).toEqual(new Set([1]));
    expect(await traces()).toEqual([0, 0, 0]);
  });

  it('is noted with its first failure and its last error, and no longer when a call ends well', async () => {
    await bench.tell(newId(), 'a');
    let error: Error | null = new Error('connect ECONNREFUSED');
    const { consumer } = await openScripted(() =>
      error === null ? { kind: 'taken' } : { kind: 'unavailable', error },
    );
    const noted = async () =>
      await bench.database.query(
        'select unavailable_since as since, unavailable_reason as reason from connector.consumers',
      );
    // What an earlier test has left.
    await bench.database.query('update connector.consumers set unavailable_since = null');
    const since = bench.clock.now();
    await consumer.settle();
    expect(await noted()).toEqual([{ since, reason: expect.stringContaining('connect ECONNREFUSED') }]);
    error = new Error('no such host');
    await bench.pass(1_000, consumer);
    expect(await noted()).toEqual([{ since, reason: expect.stringContaining('no such host') }]);
    error = null;
    await bench.pass(2_000, consumer);
    expect(await noted()).toEqual([{ since: null, reason: null }]);
  });

  it('gets everything in order when a try ends well; each outage has one warning, a line of its end, and the short waits', async () => {
    const connections = Array.from({ length: 5 }, newId);
    for (const connection of connections) await bench.tell(connection, 'a', 'b');
    let away = true;
    const { consumer, calls, lines, metrics } = await openScripted(() => (away ? AWAY : { kind: 'taken' }));
    await consumer.settle();
    await bench.pass(1_000, consumer);
    away = false;
    calls.length = 0;
    await bench.pass(2_000, consumer);
    expect(calls).toHaveLength(10);
    for (const connection of connections)
      expect(calls.filter(({ connectionId }) => connectionId === connection)).toHaveLength(2);
    expect(await traces()).toEqual([0, 0, 0]);
    away = true;
    await bench.tell(newId(), 'c');
    await consumer.settle();
    away = false;
    await bench.pass(1_000, consumer);
    expect(calls).toHaveLength(12);
    const both = [
      ['warn', 'a consumer is unavailable; its changes wait'],
      ['info', 'the consumer is available again'],
    ];
    expect(lines.map(({ level, msg }) => [level, msg])).toEqual([...both, ...both]);
    expect((await metrics.render()).text).toMatch(
      /connector_consumer_calls_total\{consumer="handler",result="unavailable"\} [1-9]/,
    );
    // Ten changes waited for three seconds, and one for one.
    expect(await metrics.read('connector_consumer_latency_seconds_sum')).toMatchObject([{ value: 31 }]);
  });

  it('makes one call while it is tried, and works at full concurrency after it', async () => {
    const connections = Array.from({ length: 4 }, newId);
    for (const connection of connections) await bench.tell(connection, 'a');
    const held: PromiseWithResolvers<CallEnd>[] = [];
    let away = true;
    const { consumer } = await openScripted(() => {
      if (away) return AWAY;
      const call = Promise.withResolvers<CallEnd>();
      held.push(call);
      return call.promise;
    });
    await consumer.settle();
    away = false;
    await bench.clock.advance(1_000);
    expect(held).toHaveLength(1);
    held[0]?.resolve({ kind: 'failed', error: new Error('this change only') });
    await expect.poll(() => held.length).toBe(4);
    for (const { resolve } of held) resolve({ kind: 'taken' });
    await consumer.settle();
    // The one that failed counts, because the consumer has seen it.
    expect(await traces()).toEqual([1, 1, 0]);
  });

  it.each([
    ['unavailable', 60_000, 60_000],
    ['unavailable', 3_600_000, 900_000],
    ['unavailable', 10, 1_000],
    // Only the connection of the change waits, for as long at most.
    ['failed', 60_000, 60_000],
    ['failed', 3_600_000, 900_000],
    ['failed', 10, 1_000],
  ] as const)('or %s may ask for a wait of %i ms, and gets %i ms', async (kind, retryAfterMs, waitMs) => {
    await bench.tell(newId(), 'a');
    const { consumer, calls } = await openScripted(() => ({ ...AWAY, kind, retryAfterMs }));
    await consumer.settle();
    await bench.pass(waitMs - 1, consumer);
    expect(calls).toHaveLength(1);
    await bench.pass(1, consumer);
    expect(calls).toHaveLength(2);
  });

  it('costs no attempt either if its calls exceed their deadline', async () => {
    await bench.tell(newId(), 'a');
    let isSlow = true;
    const { consumer, calls, metrics } = await openScripted(
      () => (isSlow ? new Promise(() => undefined) : { kind: 'taken' }),
      { whenLate: 'unavailable' },
    );
    void consumer.settle();
    await expect.poll(() => calls.length).toBe(1);
    await bench.clock.advance(30_000);
    isSlow = false;
    await bench.pass(1_000, consumer);
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 1]);
    expect(await traces()).toEqual([0, 0, 0]);
    expect(await metrics.read('connector_consumer_seconds_sum')).toMatchObject([{ value: 30 }]);
  });

  it('costs a change that was in progress when a process died no attempt', async () => {
    const connection = newId();
    await bench.tell(connection, 'a');
    await bench.database.query('update connector.consumer_places set open = true');
    const { consumer, calls } = await openScripted(() => AWAY);
    await consumer.settle();
    for (const waitMs of [1_000, 2_000, 4_000]) {
      await bench.pass(waitMs, consumer);
    }
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1]);
    const [row] = await bench.database.query('select attempts from connector.parked');
    expect(row).toEqual({ attempts: 0 });
  });
});

describe('an outage with more changes than the memory holds', () => {
  it('parks none of them, and the place stays before them', async () => {
    const { lastSeq } = await bench.feed.position();
    const texts = Array.from({ length: 6_000 }, (_, n) => `${n}`);
    await bench.tellAtOnce(newId(), texts);
    const { consumer } = await openScripted(() => AWAY);
    await consumer.settle();
    for (const waitMs of [1_000, 2_000, 4_000, 8_000]) {
      await bench.pass(waitMs, consumer);
    }
    expect(await traces()).toEqual([0, 0, 0]);
    const [{ place } = { place: -1 }] = await bench.database.query<{ place: number }>(
      'select min(place)::integer as place from connector.consumer_places',
    );
    expect(place).toBe(lastSeq);
  });
});

describe('a consumer behind a gateway', () => {
  const GATEWAY: CallEnd = { kind: 'failed', error: new Error('502'), byGateway: true };
  const deadLetters = async () => (await traces())[2];

  it('that answers for it loses one attempt of what was in progress, and is tried until it is back', async () => {
    const connections = Array.from({ length: 5 }, newId);
    for (const connection of connections) await bench.tell(connection, 'a', 'b');
    let away = true;
    const { consumer, calls, lines } = await openScripted(() => (away ? GATEWAY : { kind: 'taken' }));
    for (let minutes = 0; minutes < 60; minutes += 1) {
      await consumer.settle();
      await bench.clock.advance(60_000);
    }
    expect(await deadLetters()).toBe(0);
    expect(new Set(calls.map(({ attempt }) => attempt))).toEqual(new Set([1, 2]));
    away = false;
    calls.length = 0;
    for (let tries = 0; tries < 3; tries += 1) {
      await bench.pass(120_000, consumer);
    }
    expect(calls).toHaveLength(10);
    expect(await traces()).toEqual([0, 0, 0]);
    const shown = lines.map(({ msg }) => msg);
    expect(shown.filter((msg) => msg === 'a consumer is unavailable; its changes wait')).toHaveLength(1);
  });

  it.each(['is alone', 'is one of several'])('sets a change aside that breaks it and %s', async (which) => {
    const broken = newId();
    await bench.tell(broken, 'a');
    if (which === 'is one of several') for (let more = 0; more < 4; more += 1) await bench.tell(newId(), 'b');
    const { consumer, lines } = await openScripted(({ changes }) =>
      changes[0]?.change.connectionId === broken ? GATEWAY : { kind: 'taken' },
    );
    for (let minutes = 0; minutes < 5; minutes += 1) {
      await consumer.settle();
      await bench.clock.advance(60_000);
    }
    await consumer.settle();
    expect(await deadLetters()).toBe(1);
    expect(lines.map(({ msg }) => msg)).not.toContain('a consumer is unavailable; its changes wait');
  });

  it('sets a change aside that breaks it for 20 s each time', async () => {
    const [broken, other] = [newId(), newId()];
    await bench.tell(broken, 'a');
    await bench.tell(other, 'b', 'c');
    let backAt = 0;
    const { consumer, calls } = await openScripted(({ changes }) => {
      const now = bench.clock.now();
      if (changes[0]?.change.connectionId === broken) backAt = now + 20_000;
      return now < backAt ? GATEWAY : { kind: 'taken' };
    });
    for (let minutes = 0; minutes < 30; minutes += 1) {
      await consumer.settle();
      await bench.clock.advance(60_000);
    }
    await consumer.settle();
    expect(await deadLetters()).toBe(1);
    expect(calls.filter(({ connectionId }) => connectionId === other).length).toBeGreaterThanOrEqual(2);
    expect((await traces()).slice(0, 2)).toEqual([0, 0]);
  });
});

it('a try that was stopped, because another process has its connection now, is made again at once', async () => {
  const clock = new ManualClock();
  const ofOutage = {
    ...{ clock, logger: silentLogger, random: () => 0, consumer: 'crm' },
    ...{ onDue: () => undefined, onKnown: () => undefined },
  };
  const outage = createOutage(ofOutage);
  outage.end(AWAY, { isTry: false, connectionId: 'c1' });
  await clock.advance(1_000);
  expect([outage.begin(), outage.allows]).toEqual([true, false]);
  outage.end({ kind: 'stopped' }, { isTry: true, connectionId: 'c1' });
  expect([outage.begin(), outage.allows]).toEqual([true, false]);
});
