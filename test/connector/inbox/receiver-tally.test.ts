import { beforeEach, expect, it } from 'vitest';
import { createReceiverTally } from '../../../src/connector/inbox/receiver-tally.ts';
import { readTallies } from '../../../src/connector/state/deliveries.ts';
import type { Queryable } from '../../../src/runtime/database/database.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { databaseOfFile, silentLogger } from '../support/event-fixtures.ts';

const HOUR_MS = 3_600_000;

const database = databaseOfFile();
const clock = new ManualClock();

beforeEach(() => database.query('delete from connector.receiver_tallies'));

const open = () => createReceiverTally({ database, clock, logger: silentLogger });
const rows = () =>
  database.query<{ hour: number; kind: string; count: number }>(
    'select hour, kind, count from connector.receiver_tallies order by hour, kind',
  );

it('adds the counts of several processes, by hour, subscription and kind', async () => {
  const first = open();
  const second = open();
  first.note('default', 'accepted', 10);
  first.note('default', 'accepted', 30);
  first.note('other', 'wrong_signature');
  second.note('default', 'accepted', 2.4);
  await second.close();
  await first.close();
  const third = open();
  third.note('default', 'accepted', 20);
  await third.close();
  const [accepted] = [(await readTallies(database, clock.now() - HOUR_MS, 'default')).get('accepted')];
  expect(accepted).toMatchObject({ count: 4, totalMs: 62, minMs: 2, maxMs: 30, lastAt: clock.now() });
  expect((await readTallies(database, clock.now() - HOUR_MS, 'other')).get('wrong_signature')?.count).toBe(1);
  expect((await readTallies(database, clock.now() - HOUR_MS, null)).size).toBe(2);
  expect((await readTallies(database, clock.now() + 1, null)).size).toBe(0);
});

it('writes every 2 s, only what was counted, and keeps two days', async () => {
  const cleaned = Promise.withResolvers<void>();
  const asked: string[] = [];
  const watched: Queryable = {
    async query(text, params, options) {
      asked.push(text.trim().slice(0, 6));
      const result = await database.query(text, params, options);
      if (text.startsWith('DELETE')) cleaned.resolve();
      return result as never;
    },
  };
  const tally = createReceiverTally({ database: watched, clock, logger: silentLogger });
  for (const kind of ['too_large', 'unavailable'] as const) {
    const earlier = open();
    earlier.note('default', kind);
    await earlier.close();
    await clock.advance(HOUR_MS);
  }
  await clock.advance(47 * HOUR_MS);
  tally.start();
  tally.note('default', 'stale_timestamp', 400_000);
  await clock.advance(2_000);
  await cleaned.promise;
  expect(await rows()).toMatchObject([{ kind: 'unavailable' }, { kind: 'stale_timestamp', count: 1 }]);
  await clock.advance(60_000);
  await tally.close();
  expect(asked).toEqual(['INSERT', 'DELETE']);
});

it('keeps the counts of different hours separate', async () => {
  const tally = open();
  tally.note('default', 'too_large');
  await clock.advance(HOUR_MS);
  tally.note('default', 'too_large');
  await tally.close();
  const counted = await rows();
  expect(counted.map(({ count }) => count)).toEqual([1, 1]);
  const [first, second] = counted;
  expect((second?.hour ?? 0) - (first?.hour ?? 0)).toBe(HOUR_MS);
});

it('adds what was counted during an outage once the database is back', async () => {
  let away = true;
  const flaky: Queryable = {
    query: (text, params, options) =>
      away ? Promise.reject(new Error('away')) : database.query(text, params, options),
  };
  const tally = createReceiverTally({ database: flaky, clock, logger: silentLogger });
  tally.start();
  for (let quarter = 0; quarter < 4; quarter += 1) {
    tally.note('default', 'unavailable', quarter);
    await clock.advance(15_000);
  }
  away = false;
  tally.note('default', 'unavailable', 9);
  await tally.close();
  expect((await rows()).map(({ kind, count }) => [kind, count])).toEqual([['unavailable', 5]]);
});

it('hides an unavailable database from its callers', async () => {
  const away: Queryable = { query: () => Promise.reject(new Error('away')) };
  const tally = createReceiverTally({ database: away, clock, logger: silentLogger });
  tally.note('default', 'accepted', 1);
  await expect(tally.close()).resolves.toBeUndefined();
});

it('stays finite, whatever ages unverified requests claim', async () => {
  const tally = open();
  for (let count = 0; count < 2_000; count += 1) {
    tally.note('absurd', 'stale_timestamp', 9_999_999_999_999);
    tally.note('absurd', 'future_timestamp', -9_999_999_999_999);
  }
  tally.note('absurd', 'stale_timestamp', Number.NaN);
  await tally.close();
  const found = await readTallies(database, clock.now() - HOUR_MS, 'absurd');
  expect(found.get('stale_timestamp')).toMatchObject({ count: 2_001, minMs: 0, maxMs: 24 * HOUR_MS });
  expect(found.get('future_timestamp')).toMatchObject({ count: 2_000, minMs: -24 * HOUR_MS });
});

it('can be read although an older version added absurd ages', async () => {
  const hour = clock.now() - (clock.now() % HOUR_MS);
  await database.query(
    `insert into connector.receiver_tallies (hour, subscription_id, kind, count, last_at, total_ms, min_ms, max_ms)
     values ($1, 'older', 'stale_timestamp', 1150, $2, 9200000000000000000, 8000000000000, 8000000000000),
            ($1 - 3600000, 'older', 'stale_timestamp', 1150, $2, 9200000000000000000, 8000000000000, 8000000000000)`,
    [hour, clock.now()],
  );
  const found = await readTallies(database, clock.now() - HOUR_MS, 'older');
  expect(found.get('stale_timestamp')?.count).toBe(2_300);
});
