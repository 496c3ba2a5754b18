import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { addConsumer } from '../../../src/connector/consumers/consumer-store.ts';
import { createFeed, type Feed } from '../../../src/connector/feed/feed.ts';
import { readFiltered } from '../../../src/connector/feed/read-changes.ts';
import { numberChanges } from '../../../src/connector/feed/sequencer.ts';
import { readConsumerFigures } from '../../../src/connector/state/figures.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { databaseOfFile, emptyTables, readAllChanges, silentLogger, T0 } from '../support/event-fixtures.ts';
import { collect, seqs, writeMessages } from '../support/feed-reader.ts';

const database = databaseOfFile();

beforeEach(async () => {
  await emptyTables(database);
  // The first message of a connection that is not known would make another change.
  await database.query(
    `INSERT INTO connector.connections (connection_id, account_id, visible, version, updated_at)
     VALUES ('connection', 'account-1', true, 1, $1::bigint)`,
    [T0],
  );
});

const write = (ids: readonly string[]) => writeMessages(database, ids);

async function writeNumbered(ids: readonly string[]): Promise<void> {
  await write(ids);
  await numberChanges(database);
}

const numbers = async () => seqs(await readAllChanges(database));

const present = async (): Promise<string> => {
  const [row] = await database.query<{ present: string }>('SELECT connector.present_cluster() AS present');
  return row?.present ?? '';
};

/** From now on, the database has this identity; null as where the server does not tell it. */
const become = (cluster: string | null) =>
  database.query(
    `CREATE OR REPLACE FUNCTION connector.present_cluster() RETURNS text LANGUAGE sql AS $$
     SELECT ${cluster === null ? 'NULL' : `'${cluster}'`}::text $$`,
  );

/** A server on this timeline. */
const onTimeline = (timeline: number) => become(`7300000000000000001/16384/${timeline}`);

describe('the identity of the database', () => {
  it('has system identifier, OID and timeline, also for an ordinary role', async () => {
    expect(await present()).toMatch(/^\d{18,20}\/\d+\/[1-9]\d*$/);
    const role = `plain_${Math.random().toString(36).slice(2)}`;
    const asRole = await database.transaction(async (tx) => {
      await tx.query(`CREATE ROLE ${role}`);
      await tx.query(`GRANT USAGE ON SCHEMA connector TO ${role}`);
      await tx.query(`SET LOCAL ROLE ${role}`);
      const rows = await tx.query('SELECT connector.present_cluster() AS present');
      await tx.query('RESET ROLE');
      await tx.query(`DROP OWNED BY ${role}`);
      await tx.query(`DROP ROLE ${role}`);
      return rows;
    });
    expect(asRole).toEqual([{ present: await present() }]);
  });

  it.each([
    ['7300000000000000001/16384/1', '7300000000000000001/16384/1', 0],
    ['7300000000000000001/16384/1', '7300000000000000001/16384/2', 4_294_967_296],
    ['7300000000000000001/16384/1', '7300000000000000001/16384/4', 12_884_901_888],
  ])('from %s to %s, numbers jump by %d', async (before, after, jump) => {
    const [row] = await database.query('SELECT connector.cluster_jump($1, $2) AS jump', [before, after]);
    expect(row).toEqual({ jump });
  });

  it.each([
    ['another server', '7300000000000000002/16384/1'],
    ['another database of the server', '7300000000000000001/16999/1'],
  ])('in %s, numbers jump by a multiple of 2^32', async (_, after) => {
    const [row] = await database.query<{ jump: number }>('SELECT connector.cluster_jump($1, $2) AS jump', [
      '7300000000000000001/16384/1',
      after,
    ]);
    expect(row?.jump).toBeGreaterThan(0);
    expect((row?.jump ?? 0) % 4_294_967_296).toBe(0);
  });
});

describe('after a promotion', () => {
  beforeEach(async () => {
    await onTimeline(1);
  });

  it('the next number is 2^32 higher, once', async () => {
    await writeNumbered(['m-1', 'm-2']);
    await onTimeline(2);
    await writeNumbered(['m-3']);
    await writeNumbered(['m-4']);
    expect(await numbers()).toEqual([1, 2, 4_294_967_299, 4_294_967_300]);
  });

  it('a server that missed another promotion uses none of its numbers', async () => {
    await writeNumbered(['m-1']);
    await onTimeline(3);
    await writeNumbered(['m-2']);
    expect(await numbers()).toEqual([1, 8_589_934_594]);
  });

  it('an empty feed begins at 1', async () => {
    await numberChanges(database);
    await writeNumbered(['m-1']);
    expect(await numbers()).toEqual([1]);
  });

  it('a server that does not tell its identity changes nothing', async () => {
    await writeNumbered(['m-1']);
    await become(null);
    await writeNumbered(['m-2']);
    await onTimeline(1);
    await writeNumbered(['m-3']);
    expect(await numbers()).toEqual([1, 2, 3]);
  });

  it('the changes that wait for the handler are counted without the jump', async () => {
    await writeNumbered(['m-1']);
    await addConsumer(database, { name: 'handler', kind: 'handler', createdAt: T0 }, 1);
    await onTimeline(2);
    await writeNumbered(['m-2', 'm-3']);
    expect((await readConsumerFigures(database))[0]).toMatchObject({ waiting: 2 });
  });
});

describe('a reader of numbers that were lost', () => {
  beforeEach(async () => {
    await onTimeline(1);
  });

  function start(): Feed {
    const feed = createFeed({ database, clock: new ManualClock(), logger: silentLogger });
    onTestFinished(() => feed.close());
    return feed;
  }

  it('receives every change that is numbered afterwards, live and in pages', async () => {
    const feed = start();
    await write(['m-1', 'm-2']);
    await feed.settle();
    const { take, seen, count } = collect();
    const stop = new AbortController();
    // It had read up to 5 on the server that is gone.
    const reading = feed.subscribe(5, take, stop.signal);
    await onTimeline(2);
    await feed.settle();
    await write(['m-3', 'm-4', 'm-5']);
    await feed.settle();
    await count(3);
    stop.abort();
    await reading;
    expect(seqs(seen)).toEqual([4_294_967_299, 4_294_967_300, 4_294_967_301]);
    expect(seqs((await feed.pageAfter(5, 10)).changes)).toEqual([
      4_294_967_299, 4_294_967_300, 4_294_967_301,
    ]);
  });

  it('reads from memory what other readers have read, on both sides of the jump', async () => {
    const feed = start();
    await write(['m-1', 'm-2', 'm-3']);
    await feed.settle();
    const follow = async (after: number, wanted: number): Promise<number[]> => {
      const stop = new AbortController();
      const { take, seen, count } = collect();
      const reading = feed.subscribe(after, take, stop.signal);
      await count(wanted);
      stop.abort();
      await reading;
      return seqs(seen);
    };
    const first = follow(3, 4);
    await write(['m-4', 'm-5']);
    await feed.settle();
    await onTimeline(2);
    await write(['m-6', 'm-7']);
    await feed.settle();
    expect(await first).toEqual([4, 5, 4_294_967_302, 4_294_967_303]);
    expect(await follow(4, 3)).toEqual([5, 4_294_967_302, 4_294_967_303]);
    expect(await follow(100, 2)).toEqual([4_294_967_302, 4_294_967_303]);
  });

  it('is told that it has caught up if nothing was numbered yet', async () => {
    await writeNumbered(['m-1']);
    await onTimeline(2);
    await numberChanges(database);
    expect(await readFiltered(database, 5, 10, {})).toEqual({
      changes: [],
      reached: 4_294_967_297,
      hasMore: false,
    });
  });
});
