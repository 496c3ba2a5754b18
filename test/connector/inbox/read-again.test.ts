import { afterEach, beforeEach, expect, it } from 'vitest';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import { makePartitions } from '../../../src/connector/db/time-partitions.ts';
import { startReadingAgain } from '../../../src/connector/inbox/read-again.ts';
import { createPresence, type Presence } from '../../../src/connector/work/presence.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import {
  ACCOUNT,
  databaseWithoutDaysOfTest,
  delivery,
  outage,
  readLog,
  readMessages,
  silentLogger,
  T0,
} from '../support/event-fixtures.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const database = databaseWithoutDaysOfTest();
let clock: ManualClock;
const ended: (() => Promise<void>)[] = [];

beforeEach(async () => {
  clock = new ManualClock(T0);
  await makePartitions(database, 'inbox', T0 - 2 * DAY, { days: 1, ahead: 3 });
});
afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await end();
});

/** Another process, which reads again as soon as it starts. */
async function startProcess() {
  const presence: Presence = createPresence({ database, clock, logger: silentLogger, works: true });
  await presence.start();
  let committed = 0;
  const onCommitted = (): void => {
    committed += 1;
  };
  const reading = startReadingAgain({ database, clock, logger: silentLogger, presence, onCommitted });
  ended.push(
    () => presence.stop(),
    () => reading.stop(),
  );
  return { settle: () => reading.settle(), committed: () => committed };
}

/** Stores an event as a version did that could not read it. */
async function keep(event: object, receivedAt: number): Promise<void> {
  const { connection: _, ...raw } = delivery({ connection: outage('c1', T0) }, { receivedAt });
  const body = Buffer.from(JSON.stringify(event));
  const kept = { ...raw, body, outcome: 'invalid', reason: 'message.text: Invalid input' } as const;
  await commitBatch(database, { now: receivedAt, deliveries: [kept] });
}

const received = (id: unknown) => ({
  event: 'message.received',
  connection_id: 'c1',
  message: { id, from: '15551234567', text: 7, timestamp: T0 - DAY },
});

it('merges what it can read, once, and keeps the rest as invalid', async () => {
  await keep(received('m1'), T0 - DAY);
  await keep(received({}), T0 - DAY);
  await keep({ event: 'connection.disconnected', connection_id: 'c1', connection: null, timestamp: T0 }, T0);
  for (let index = 0; index < 120; index += 1) await keep(received(`many-${index}`), T0 - 2 * DAY);
  const one = await startProcess();
  await one.settle();
  expect(await readMessages(database)).toHaveLength(121);
  expect((await readMessages(database)).find(({ id }) => id === 'm1')).toMatchObject({
    peer: '15551234567',
    first_seen_by: 'webhook',
    created_at: T0 - DAY,
  });
  expect(await database.query('SELECT needs_reconnect FROM connector.connections')).toEqual([
    { needs_reconnect: true },
  ]);
  const outcomes = Map.groupBy(await readLog(database), ({ outcome }) => outcome);
  expect([...outcomes].map(([outcome, rows]) => [outcome, rows.length]).sort()).toEqual([
    ['invalid', 1],
    ['merged', 122],
  ]);
  expect(one.committed()).toBeGreaterThan(0);
});

it('applies an outage only if nothing newer is known', async () => {
  await keep({ event: 'connection.connected', connection_id: 'c1', timestamp: T0 - HOUR }, T0 - HOUR);
  const newer = delivery({ connection: outage('c1', T0) }, { receivedAt: T0 });
  await commitBatch(database, { now: T0, deliveries: [newer] });
  await (await startProcess()).settle();
  expect(await database.query('SELECT needs_reconnect FROM connector.connections')).toEqual([
    { needs_reconnect: true },
  ]);
});

it('does so in one of two processes, and reads what an earlier version adds within the next hour', async () => {
  await keep(received('m1'), T0);
  const both = await Promise.all([startProcess(), startProcess()]);
  for (const { settle } of both) await settle();
  expect(await readLog(database)).toMatchObject([{ outcome: 'merged' }]);
  await keep(received('m2'), T0);
  const known = async (ms: number) => {
    await clock.advance(ms);
    for (const { settle } of both) await settle();
    return (await readMessages(database)).map(({ id }) => id);
  };
  expect(await known(HOUR - 1)).toEqual(['m1']);
  expect(await known(1)).toEqual(['m1', 'm2']);
});

it('reads each day once for a version', async () => {
  const first = await startProcess();
  await first.settle();
  await clock.advance(HOUR);
  await first.settle();
  await keep(received('m1'), T0);
  const second = await startProcess();
  await second.settle();
  expect(await readLog(database)).toMatchObject([{ outcome: 'invalid' }]);
});

it('leaves an event of another account to its owner', async () => {
  const owned = delivery({ connection: outage('c1', T0, { accountId: 'account-2' }) }, { receivedAt: T0 });
  await commitBatch(database, { now: T0, deliveries: [{ ...owned, accountId: 'account-2' }] });
  await keep(received('m1'), T0);
  await (await startProcess()).settle();
  expect(await readMessages(database)).toEqual([]);
  expect((await readLog(database)).map(({ outcome }) => outcome)).toEqual(['merged', 'foreign']);
  expect(ACCOUNT).not.toBe('account-2');
});
