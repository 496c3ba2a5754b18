import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readPollState } from '../../../src/connector/accounts/poll-state.ts';
import { createReconciler, type Reconciler } from '../../../src/connector/reconcile/reconciler.ts';
import { ManualNotifier } from '../support/manual-notifier.ts';
import { ACCOUNT, pollBenchOfTest } from '../support/poll-bench.ts';
import type { Fault, ServiceRequest } from '../support/scripted-service.ts';

const bench = pollBenchOfTest();
let reconciler: Reconciler;
beforeEach(async () => {
  const notifier = new ManualNotifier();
  reconciler = createReconciler({ ...bench.poller, random: () => 1, notifier, intervalMs: 45_000 });
  bench.service.addConnection('c1');
});
afterEach(() => reconciler.close());

const listed = (index: number, ageMs: number) => ({
  id: `m${index}`,
  connectionId: 'c1',
  direction: 'incoming',
  text: null,
  mediaUrl: null,
  mediaType: null,
  status: 'delivered',
  errorMessage: null,
  waMessageId: null,
  createdAt: new Date(Date.UTC(2026, 0, 15, 11) - ageMs).toISOString(),
});
const page = (messages: readonly unknown[], nextCursor: string): Fault => ({
  status: 200,
  body: { messages, nextCursor, hasMore: true },
});
let cursors = 0;
const freshCursor = (): string => `fresh-${++cursors}`;
const ofMessages =
  (answer: (cursor: string | null) => Fault) =>
  ({ path, query }: ServiceRequest): Fault | undefined =>
    path === '/messages' ? answer(query.get('cursor')) : undefined;

/** Each page of the ring has four messages, and a new cursor each time. */
const ring =
  (length: number) =>
  (cursor: string | null): Fault => {
    const at = Number(cursor?.split('_')[1] ?? 0) % length;
    const messages = [0, 1, 2, 3].map((index) => listed(at * 4 + index, (at * 4 + index) * 60_000));
    return page(messages, `${freshCursor()}_${at + 1}`);
  };

/** Requests of each of the next minutes, with the shortest waits that are possible. */
async function countRequests(minutes: number): Promise<number[]> {
  const counts: number[] = [];
  for (let minute = 0; minute < minutes; minute += 1) {
    const before = bench.service.requests.length;
    for (let second = 0; second < 60; second += 1) {
      await bench.clock.advance(1_000);
      await reconciler.settle();
    }
    counts.push(bench.service.requests.length - before);
  }
  return counts;
}

const ENDLESS: readonly (readonly [string, (cursor: string | null) => Fault])[] = [
  ['empty pages without end', () => page([], freshCursor())],
  ['a list that begins again after 250 pages', ring(250)],
];
/** It asks for the next call at once. */
const refuse = (): Fault => ({
  status: 429,
  body: { error: 'rate_limited' },
  headers: { 'retry-after': '0' },
});

describe('an account whose service answers', () => {
  it.each(ENDLESS)(
    '%s fails, with at most 12 requests a minute, and goes on once it ends',
    async (_what, answer) => {
      bench.service.fault = ofMessages(answer);
      await reconciler.start();
      await reconciler.settle();
      expect(await readPollState(bench.database, ACCOUNT)).toMatchObject({ lastErrorCode: 'stalled_list' });
      for (const count of await countRequests(2)) expect(count).toBeLessThanOrEqual(12);
      bench.service.fault = () => undefined;
      const message = bench.service.addMessage('c1', bench.clock.now());
      await bench.clock.advance(300_000);
      await reconciler.settle();
      expect(await bench.storedIds()).toContain(message.id);
      expect(await readPollState(bench.database, ACCOUNT)).toMatchObject({
        failures: 0,
        lastErrorCode: null,
      });
    },
  );

  it('429 and Retry-After: 0 is polled with at most 12 requests a minute', async () => {
    bench.service.fault = ofMessages(refuse);
    await reconciler.start();
    await reconciler.settle();
    for (const count of await countRequests(2)) expect(count).toBeLessThanOrEqual(12);
    expect(await readPollState(bench.database, ACCOUNT)).not.toMatchObject({ failures: 0 });
  });

  it('nothing at all is polled with at most 12 requests a minute', async () => {
    bench.service.fault = () => ({ status: 500, body: { error: 'internal_error' } });
    await reconciler.start();
    await reconciler.settle();
    for (const count of await countRequests(2)) expect(count).toBeLessThanOrEqual(12);
  });

  it('with a connection that is listed every other time is polled once per period', async () => {
    await reconciler.start();
    await reconciler.settle();
    const connections = bench.service.connections;
    let requests = 0;
    bench.service.onRequest = ({ path }) => {
      if (path === '/connections') bench.service.connections = requests++ % 2 === 0 ? [] : connections;
    };
    for (const count of await countRequests(2)) expect(count).toBeLessThanOrEqual(12);
  });
});

describe('a poll on demand, again and again,', () => {
  /** Requests in so many seconds. Somebody calls again as soon as the last call was answered, also after them. */
  async function callFor(seconds: number): Promise<number> {
    const before = bench.service.requests.length;
    let made = 0;
    const until = bench.clock.now() + seconds * 1_000;
    while (bench.clock.now() < until) {
      let answered = false;
      const answer = reconciler.syncNow(ACCOUNT).then(() => {
        answered = true;
      });
      while (!answered) {
        await bench.clock.advance(500);
        // Time must not pass faster than requests are answered.
        for (let round = 0; round < 40; round += 1) await bench.database.query('select 1');
        if (bench.clock.now() <= until) made = bench.service.requests.length - before;
      }
      await answer;
    }
    return made;
  }

  it('of a service whose list has empty pages without end makes at most 12 requests a minute', async () => {
    bench.service.fault = ofMessages(() => page([], freshCursor()));
    await callFor(20);
    expect(await callFor(60)).toBeLessThanOrEqual(12);
  });

  it('of a service that answers 500 to everything makes at most 12 requests a minute', async () => {
    bench.service.fault = () => ({ status: 500, body: { error: 'internal_error' } });
    await callFor(30);
    expect(await callFor(60)).toBeLessThanOrEqual(12);
  });

  it('polls more and more rarely if a gap stays open after good polls', async () => {
    await reconciler.syncNow(ACCOUNT);
    bench.service.addMessage('c1', bench.clock.now());
    const connections = bench.service.connections;
    let requests = 0;
    bench.service.onRequest = ({ path }) => {
      if (path === '/connections') bench.service.connections = requests++ % 2 === 0 ? connections : [];
    };
    bench.service.connections = [];
    await reconciler.syncNow(ACCOUNT);
    expect(await callFor(60)).toBeLessThanOrEqual(60);
  });
});
