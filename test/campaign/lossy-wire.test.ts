import { expect, onTestFinished, test } from 'vitest';
import { checkFeed, checkFinalStates, checkFollowed } from '../support/check-invariants.ts';
import { exchangeMessages, readQrConnections } from '../support/exchange-messages.ts';
import { followFeed, readFeed } from '../support/follow-feed.ts';
import { startTestLoop } from '../support/loop.ts';
import { readAllEntries, readAllMessages } from '../support/read-lists.ts';
import { createShiftedClock } from '../support/shifted-clock.ts';

const ROUNDS = 2;
const EACH_ROUND = 200;
/** All receipts of a round are due within this time. */
const ROUND_MS = 10_000;
const DROPPED = 0.3;
/** After this time without a webhook, what polling found counts as a repair. */
const JUDGED_AFTER_MS = 41_000;

const FAULTS = {
  seed: 42,
  rules: [
    {
      id: 'drop',
      match: { surface: 'webhook' },
      action: { type: 'drop' },
      probability: DROPPED,
      per: 'event',
    },
    { id: 'twice', match: { surface: 'webhook' }, action: { type: 'duplicate', times: 2 }, probability: 0.2 },
    { id: 'late', match: { surface: 'webhook' }, action: { type: 'delay', ms: 200 }, probability: 0.2 },
    { id: 'mixed', match: { surface: 'webhook' }, action: { type: 'reorder' }, probability: 0.1 },
  ],
};

/** Contacts who receive and read messages, or do not. */
const PEOPLE: Readonly<Record<string, object>> = {
  '447700900301': { deliverAfterMs: 300, readAfterMs: 1_500 },
  '447700900302': { deliverAfterMs: 300, readAfterMs: null },
  '447700900303': { deliverAfterMs: null, readAfterMs: null, failAfterMs: 2_000 },
  '447700900304': { deliverAfterMs: 200, readAfterMs: 210 },
  '447700900305': { deliverAfterMs: null, readAfterMs: null },
};

interface DeliveryEntry {
  readonly event: string;
  readonly outcome: string;
  readonly messageId: string;
  readonly reason?: string;
  readonly attempts: readonly { readonly faults?: readonly string[] }[];
}

interface SyncReport {
  readonly accounts: readonly {
    readonly repaired: { readonly messages: number; readonly statuses: number };
    readonly webhookHealth: string;
    readonly openGaps: number;
  }[];
}

test('a poll restores everything after a network that loses three events in ten', async () => {
  const clock = createShiftedClock();
  const loop = await startTestLoop({ clock, reconcileIntervalMs: 3_600_000 });
  onTestFinished(() => loop.close());
  for (const [phone, behavior] of Object.entries(PEOPLE))
    await loop.sandbox('PUT', `/contacts/${phone}`, behavior);
  await loop.connector('POST', '/v1/sync', {});
  const reader = followFeed({ live: async () => loop.connectorUrl, token: loop.connectorToken });
  onTestFinished(() => reader.close());
  await loop.sandbox('PUT', '/faults', FAULTS);
  const { sandbox, service } = loop;
  const connectionIds = await readQrConnections(service);
  const people = { sandbox, service, connectionIds, phones: Object.keys(PEOPLE) };
  const numbers = Array.from({ length: EACH_ROUND }, (_, number) => number);

  for (let round = 0; round < ROUNDS; round += 1) {
    await exchangeMessages({ ...people, names: numbers.map((number) => `${round}.${number}`) });
    await loop.sandbox('POST', '/clock/advance', { ms: ROUND_MS });
    await loop.loop.settle();
  }
  const lossy = await readAllMessages(loop.connector, '/v1/messages?limit=1000');
  await loop.connector('POST', '/v1/sync', {});
  await loop.loop.settle();

  const truth = await readAllMessages(loop.service, '/messages?limit=100');
  expect(truth).toHaveLength(2 * ROUNDS * EACH_ROUND);
  expect(truth.every(({ mediaUrl }) => mediaUrl === null)).toBe(true);
  // The faults took effect: before the poll, messages are missing and statuses are behind.
  const before = checkFinalStates(lossy, truth);
  expect(before.filter(({ rule }) => rule === 'lost').length).toBeGreaterThan(50);
  expect(before.filter(({ rule }) => rule === 'different').length).toBeGreaterThan(20);
  expect(before.filter(({ rule }) => rule === 'invented' || rule === 'repeated')).toEqual([]);

  expect(checkFinalStates(await readAllMessages(loop.connector, '/v1/messages?limit=1000'), truth)).toEqual(
    [],
  );
  const feed = await readFeed(loop.connectorUrl, loop.connectorToken);
  await reader.until(({ seq }) => seq === feed.length);
  expect(checkFeed(feed)).toEqual([]);
  expect(checkFollowed(reader.changes, feed)).toEqual([]);

  const deliveries = await readAllEntries<DeliveryEntry>(loop.sandbox, '/deliveries?limit=100');
  const dropped = deliveries.filter(({ outcome }) => outcome === 'dropped');
  expect(dropped.every(({ attempts }) => attempts.every(({ faults }) => faults?.includes('drop')))).toBe(
    true,
  );
  expect(deliveries.length).toBeGreaterThan(1_000);
  expect(dropped.length / deliveries.length).toBeGreaterThan(DROPPED - 0.07);
  expect(dropped.length / deliveries.length).toBeLessThan(DROPPED + 0.07);

  clock.shift(JUDGED_AFTER_MS);
  await loop.connector('POST', '/v1/sync', {});
  const { accounts } = await loop.connector<SyncReport>('GET', '/v1/sync');
  const lostMessages = dropped.filter(({ event }) => event === 'message.received').length;
  expect(accounts[0]).toMatchObject({
    webhookHealth: 'lossy',
    openGaps: 0,
    repaired: { messages: lostMessages },
  });
  expect(accounts[0]?.repaired.statuses).toBeGreaterThan(20);
});
