import { describe, expect, it } from 'vitest';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import {
  daysOfChanges,
  daysOfPeriod,
  dropInboxPartitions,
  listPartitions,
  makePartitions,
} from '../../../src/connector/db/time-partitions.ts';
import { sqlState } from '../../../src/runtime/database/database.ts';
import { openPool } from '../../support/database.ts';
import { databaseWithoutDaysOfTest, delivery, newId, received } from '../support/event-fixtures.ts';

const DAY = 86_400_000;
const NOON = Date.UTC(2026, 1, 27, 12);

const database = databaseWithoutDaysOfTest();

const receiveAt = (receivedAt: number, db = database) =>
  commitBatch(db, {
    now: receivedAt,
    deliveries: [delivery({ message: received(newId(), newId()) }, { receivedAt })],
  });

const countBy = async (): Promise<Record<string, number>> =>
  Object.fromEntries(
    (
      await database.query<{ name: string; rows: number }>(
        `SELECT tableoid::regclass::text AS name, count(*)::int AS rows FROM connector.inbox GROUP BY 1 ORDER BY 1`,
      )
    ).map(({ name, rows }) => [name, rows]),
  );

const partitions = async (): Promise<string[]> =>
  (
    await database.query<{ name: string }>(
      `SELECT inhrelid::regclass::text AS name FROM pg_inherits
        WHERE inhparent = 'connector.inbox'::regclass ORDER BY 1`,
    )
  ).map(({ name }) => name);

describe('the partitions of the inbox', () => {
  it('are created once for today and the next days, also across months', async () => {
    expect(await makePartitions(database, 'inbox', NOON, { days: 1, ahead: 3 })).toBe(4);
    expect(await makePartitions(database, 'inbox', NOON, { days: 1, ahead: 3 })).toBe(0);
    expect(await makePartitions(database, 'inbox', NOON + DAY, { days: 1, ahead: 3 })).toBe(1);
    expect(await partitions()).toEqual([
      'connector.inbox_20260227',
      'connector.inbox_20260228',
      'connector.inbox_20260301',
      'connector.inbox_20260302',
      'connector.inbox_20260303',
      'connector.inbox_default',
    ]);
  });

  it('contain the rows of their UTC day, from its first to its last millisecond', async () => {
    await makePartitions(database, 'inbox', NOON, { days: 1, ahead: 1 });
    const midnight = Date.UTC(2026, 1, 28);
    for (const at of [midnight - DAY, midnight - 1, midnight, midnight + DAY - 1, midnight + DAY]) {
      await receiveAt(at);
    }
    expect(await countBy()).toEqual({
      'connector.inbox_20260227': 2,
      'connector.inbox_20260228': 2,
      'connector.inbox_default': 1,
    });
  });

  it('take over the rows that were stored in the default partition', async () => {
    for (const at of [NOON - DAY, NOON, NOON + 1, NOON + DAY]) await receiveAt(at);
    expect(await countBy()).toEqual({ 'connector.inbox_default': 4 });
    expect(await makePartitions(database, 'inbox', NOON, { days: 1, ahead: 0 })).toBe(1);
    expect(await countBy()).toEqual({ 'connector.inbox_20260227': 2, 'connector.inbox_default': 2 });
  });

  it('are created by several concurrent processes while deliveries for these days arrive', async () => {
    const others = Array.from({ length: 3 }, () => openPool(database.url, { poolSize: 2 }));
    const refusals: (string | undefined)[] = [];
    let stored = 0;
    let over = false;
    const writing = [0, 1].map(async (queue) => {
      for (let turn = 0; !over || turn < 10; turn += 1) {
        try {
          await receiveAt(NOON + ((turn + queue) % 4) * DAY);
          stored += 1;
        } catch (error) {
          refusals.push(sqlState(error));
        }
      }
    });
    const made = await Promise.all(
      others.map((db) => makePartitions(db, 'inbox', NOON, { days: 1, ahead: 3 })),
    );
    over = true;
    await Promise.all(writing);
    expect(made.reduce((sum, count) => sum + count, 0)).toBe(4);
    const counts = await countBy();
    expect(counts['connector.inbox_default']).toBeUndefined();
    expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(stored);
    // A row routed to the default partition while its day is attached is refused; the receiver tries again.
    expect(refusals.filter((state) => state !== '23514')).toEqual([]);
    await Promise.all(others.map((db) => db.close()));
  });

  it('are dropped once their whole day is past the retention, and so are old rows of the default partition', async () => {
    await makePartitions(database, 'inbox', NOON - 3 * DAY, { days: 1, ahead: 3 });
    for (const at of [NOON - 9 * DAY, NOON - 3 * DAY, NOON - 2 * DAY, NOON + 9 * DAY]) await receiveAt(at);
    const before = Date.UTC(2026, 1, 25);
    expect(await dropInboxPartitions(database, before)).toEqual({ dropped: 1, busy: 0 });
    expect(await dropInboxPartitions(database, before)).toEqual({ dropped: 0, busy: 0 });
    expect(await countBy()).toEqual({ 'connector.inbox_20260225': 1, 'connector.inbox_default': 1 });
    expect(await partitions()).not.toContain('connector.inbox_20260224');
  });

  it('stay as long as somebody reads them, and deliveries do not wait for the drop', async () => {
    await makePartitions(database, 'inbox', NOON - 3 * DAY, { days: 1, ahead: 3 });
    const reading = Promise.withResolvers<void>();
    const over = Promise.withResolvers<void>();
    const reader = database.transaction(async (tx) => {
      await tx.query('SELECT count(*) FROM connector.inbox');
      reading.resolve();
      await over.promise;
    });
    await reading.promise;
    const dropping = dropInboxPartitions(database, Date.UTC(2026, 1, 25));
    await Promise.all([receiveAt(NOON), receiveAt(NOON + 9 * DAY)]);
    expect(await dropping).toEqual({ dropped: 0, busy: 1 });
    over.resolve();
    await reader;
    expect(await dropInboxPartitions(database, Date.UTC(2026, 1, 25))).toEqual({ dropped: 1, busy: 0 });
    expect(await countBy()).toEqual({ 'connector.inbox_20260227': 1, 'connector.inbox_default': 1 });
  });

  it('are created for today after weeks without a process, and take over earlier rows', async () => {
    await makePartitions(database, 'inbox', NOON, { days: 1, ahead: 7 });
    const later = NOON + 40 * DAY;
    await receiveAt(later);
    expect(await countBy()).toEqual({ 'connector.inbox_default': 1 });
    await makePartitions(database, 'inbox', later, { days: 1, ahead: 7 });
    expect(await countBy()).toEqual({ 'connector.inbox_20260408': 1 });
  });

  it('have an index for look-ups by message, including the default partition', async () => {
    await makePartitions(database, 'inbox', NOON, { days: 1, ahead: 1 });
    const rows = await database.query<{ name: string }>(
      `SELECT tablename AS name FROM pg_indexes WHERE indexdef LIKE '%(message_id, change_batch, received_at)%' ORDER BY 1`,
    );
    expect(rows.map(({ name }) => name)).toEqual([
      'inbox',
      'inbox_20260227',
      'inbox_20260228',
      'inbox_default',
    ]);
  });
});

describe('the partitions of the feed', () => {
  const bounds = async () =>
    (await listPartitions(database, 'changes')).map(({ name, from, to }) => [name, (to - from) / DAY]);

  it('have the asked length, begin at its multiples, and close the gaps that another length has left', async () => {
    await makePartitions(database, 'changes', NOON, { days: 1, ahead: 1 });
    expect(await bounds()).toEqual([
      ['changes_20260227', 1],
      ['changes_20260228', 1],
    ]);
    await makePartitions(database, 'changes', NOON, { days: 7, ahead: 7 });
    expect(await bounds()).toEqual([
      ['changes_20260226', 1],
      ['changes_20260227', 1],
      ['changes_20260228', 1],
      ['changes_20260301', 4],
      ['changes_20260305', 7],
    ]);
    expect(await makePartitions(database, 'changes', NOON + 2 * DAY, { days: 1, ahead: 7 })).toBe(0);
  });

  it.each([
    [1, 1],
    [15, 1],
    [16, 2],
    [90, 6],
    [449, 30],
    [3_650, 30],
    [Number.POSITIVE_INFINITY, 30],
  ])('of %s days that are kept have %i days each', (kept, days) => {
    expect(daysOfChanges(kept)).toBe(days);
  });
});

it('messages have five periods, however long they are kept', () => {
  expect([7, 30, 3_650].map(daysOfPeriod)).toEqual([2, 6, 730]);
});
