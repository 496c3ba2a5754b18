import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import { writeChanges } from '../../../src/connector/db/write-changes.ts';
import { readChanges } from '../../../src/connector/feed/read-changes.ts';
import { createSequencer, numberChanges, type Sequencer } from '../../../src/connector/feed/sequencer.ts';
import type { Change } from '../../../src/contract/connector/changes.ts';
import type { MessageStatus } from '../../../src/contract/service/statuses.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import type { Database, Queryable } from '../../../src/runtime/database/database.ts';
import { openPool } from '../../support/database.ts';
import { collectLog } from '../../support/log-to.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { aroundQueries } from '../../support/replace-calls.ts';
import {
  databaseOfFile,
  emptyTables,
  newId,
  readAllChanges,
  silentLogger,
  status,
  T0,
} from '../support/event-fixtures.ts';

const database = databaseOfFile();

beforeEach(() => emptyTables(database));

function sequencerOn(db: Database, onNumbered: (lastSeq: number) => void = () => undefined): Sequencer {
  return createSequencer({ database: db, clock: systemClock, logger: silentLogger, onNumbered });
}

const insertChange = `WITH renamed AS (SELECT $1::text AS name),
${writeChanges({
  made: ['renamed'],
  changes: [
    {
      type: `'connection.updated'`,
      at: '0',
      accountId: `'a'`,
      connectionId: 'name',
      source: `'poll'`,
      data: `'{}'::jsonb`,
      from: 'FROM renamed',
    },
  ],
})}
SELECT FROM inserted_batch`;

const numbers = async () =>
  (await readAllChanges(database)).map(({ seq, connection_id }) => [connection_id, seq]);

describe('numbering changes', () => {
  it('assigns consecutive numbers from 1, in the order in which the changes were made', async () => {
    const sequencer = sequencerOn(database);
    for (const name of ['a', 'b', 'c']) await database.query(insertChange, [name]);
    await sequencer.settle();
    for (const name of ['d', 'e']) await database.query(insertChange, [name]);
    await sequencer.settle();
    await sequencer.settle();
    expect(await numbers()).toEqual([
      ['a', 1],
      ['b', 2],
      ['c', 3],
      ['d', 4],
      ['e', 5],
    ]);
  });

  it('leaves no hole for a change that commits late: a reader still sees it', async () => {
    const sequencer = sequencerOn(database);
    let seen: Change['seq'] = 0;
    await database.transaction(async (tx) => {
      await tx.query(insertChange, ['late']);
      const other = openPool(database.url);
      await other.query(insertChange, ['early']);
      await sequencerOn(other).settle();
      const found = await readChangeNames(other, 0);
      expect(found).toEqual(['early']);
      seen = found.length;
      await other.close();
    });
    await sequencer.settle();
    expect(await readChangeNames(database, seen)).toEqual(['late']);
  });

  it('assigns no number to what was rolled back', async () => {
    const sequencer = sequencerOn(database);
    await expect(
      database.transaction(async (tx) => {
        await tx.query(insertChange, ['undone']);
        throw new Error('changed my mind');
      }),
    ).rejects.toThrow('changed my mind');
    await database.query(insertChange, ['done']);
    await sequencer.settle();
    expect(await numbers()).toEqual([['done', 1]]);
  });

  it('follows the order in which a message was changed, whichever statement began first', async () => {
    const [first, second] = [newId(), newId()].sort() as [string, string];
    const tell = (db: Queryable, ...messages: [id: string, status: MessageStatus][]) =>
      commitBatch(db, { now: T0, messages: messages.map(([id, reached]) => status('c', id, reached)) });
    await tell(database, [first, 'sent'], [second, 'sent']);
    let early: Promise<unknown> = Promise.resolve();
    await database.transaction(async (tx) => {
      await tell(tx, [first, 'delivered']);
      early = tell(database, [first, 'read'], [second, 'read']);
      while (!(await isBlocked(database))) await nextTurn();
      await tell(database, [second, 'delivered']);
    });
    await early;
    await sequencerOn(database).settle();
    const told = (await readChanges(database, 0, 100)).filter((change) => change.type === 'message.status');
    expect(told.map(({ messageId, data }) => [messageId === first ? 'first' : 'second', data])).toEqual([
      ['first', { status: 'delivered', previous: 'sent', historic: false }],
      ['second', { status: 'delivered', previous: 'sent', historic: false }],
      ['first', { status: 'read', previous: 'delivered', historic: false }],
      ['second', { status: 'read', previous: 'delivered', historic: false }],
    ]);
  });

  it('handles more changes than one statement numbers', async () => {
    await database.query(
      `WITH made AS (INSERT INTO connector.change_batches (id, size, changed_at)
         SELECT nextval('connector.change_batch_id'), 2, 0 FROM generate_series(1, 2300) RETURNING id)
       INSERT INTO connector.changes (batch, position, type, at, account_id, connection_id, source, data)
       SELECT id, position, 'connection.updated', 0, 'a', 'c', 'poll', '{}'
         FROM made, generate_series(1, 2) AS position`,
    );
    const heard: number[] = [];
    await sequencerOn(database, (lastSeq) => heard.push(lastSeq)).settle();
    expect(heard).toEqual([2_000, 4_000, 4_600]);
    expect((await readChanges(database, 3_999, 1_000)).map(({ seq }) => seq)).toEqual(
      Array.from({ length: 601 }, (_, index) => 4_000 + index),
    );
  });

  it('runs once for many notifications, less often under load, and never misses the last one', async () => {
    const clock = new ManualClock();
    let runs = 0;
    const counting = aroundQueries(database, (_text, run) => {
      runs += 1;
      return run();
    });
    const heard: number[] = [];
    const sequencer = createSequencer({
      database: counting,
      clock,
      logger: silentLogger,
      onNumbered: (lastSeq) => heard.push(lastSeq),
    });
    await database.query(insertChange, ['first']);
    for (let turn = 0; turn < 50; turn += 1) sequencer.notify();
    await sequencer.settle();
    expect(runs).toBe(2);
    await database.query(insertChange, ['second']);
    sequencer.notify();
    sequencer.notify();
    expect(runs).toBe(2);
    await clock.advance(50);
    sequencer.notify();
    await sequencer.close();
    expect([runs, clock.pending]).toEqual([3, 0]);
    expect(heard).toEqual([1, 1, 2]);
  });

  it('numbers what was committed after its successors with the next run, and after a minute within another', async () => {
    const clock = new ManualClock();
    const heard: number[] = [];
    const onNumbered = (lastSeq: number) => heard.push(lastSeq);
    const sequencer = createSequencer({ database, clock, logger: silentLogger, onNumbered });
    for (const pauseMs of [0, 70_000]) {
      await database.transaction(async (tx) => {
        await tx.query(insertChange, [`late ${pauseMs}`]);
        await database.query(insertChange, [`early ${pauseMs}`]);
        await sequencer.settle();
        await clock.skip(pauseMs);
        await sequencer.settle();
      });
      await sequencer.settle();
    }
    expect(heard.at(-1)).toBe(3);
    await clock.skip(60_000);
    await sequencer.settle();
    expect(await numbers()).toEqual([
      ['late 0', 2],
      ['early 0', 1],
      ['late 70000', 4],
      ['early 70000', 3],
    ]);
  });

  it('looks at all batches once a minute, and if that takes long, for at most a fiftieth of the time', async () => {
    const clock = new ManualClock();
    const looks: number[] = [];
    const slow = {
      async query(_text: string, [, , above]: readonly unknown[]) {
        // The second look takes three seconds.
        if (above === null && looks.push(clock.elapsed() / 1_000) === 2) await clock.skip(3_000);
        return [{ cluster: 'c', above: 7, missing: [], numbered: 0, last_seq: 0 }];
      },
    } as unknown as Queryable;
    const onNumbered = () => undefined;
    const sequencer = createSequencer({ database: slow, clock, logger: silentLogger, onNumbered });
    for (let second = 0; second <= 240; second += 1) {
      await clock.skip(1_000);
      await sequencer.settle();
    }
    expect(looks).toEqual([1, 61, 211]);
  });

  it('numbers with the next run what is committed while it numbers others', async () => {
    await database.query(
      `CREATE FUNCTION connector.wait_for_test() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN PERFORM pg_advisory_xact_lock(42); RETURN NULL; END $$`,
    );
    await database.query(
      `CREATE TRIGGER wait_for_test BEFORE UPDATE ON connector.change_batches EXECUTE FUNCTION connector.wait_for_test()`,
    );
    const sequencer = sequencerOn(database);
    let numbering = Promise.resolve();
    await database.transaction(async (blocker) => {
      await blocker.query('SELECT pg_advisory_xact_lock(42)');
      await database.transaction(async (tx) => {
        await tx.query(insertChange, ['late']);
        await database.query(insertChange, ['early']);
        numbering = sequencer.settle();
        while (!(await isBlocked(database))) await nextTurn();
      });
    });
    await numbering;
    await database.query('DROP FUNCTION connector.wait_for_test() CASCADE');
    await sequencer.settle();
    expect(await numbers()).toEqual([
      ['late', 2],
      ['early', 1],
    ]);
  });

  it('looks at every batch when the database is another one, in which an id may have been taken again', async () => {
    const sequencer = sequencerOn(database);
    await database.query(insertChange, ['lost']);
    await sequencer.settle();
    await database.transaction(async (tx) => {
      await tx.query('DELETE FROM connector.changes');
      await tx.query('DELETE FROM connector.change_batches');
      await tx.query(
        `SELECT setval('connector.change_batch_id', last_value, false) FROM connector.change_batch_id`,
      );
      await tx.query(`UPDATE connector.feed SET cluster = '7300000000000000001/16384/1'`);
    });
    await asCluster(database, '7300000000000000001/16384/2', async () => {
      await database.query(insertChange, ['new']);
      await sequencer.settle();
    });
    expect(await numbers()).toEqual([['new', 4_294_967_297]]);
  });

  it('numbers nothing in a transaction that might not see the newest number', async () => {
    const numbering = database.transaction(async (tx) => {
      await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
      await numberChanges(tx);
    });
    await expect(numbering).rejects.toThrow('read committed, but this one is repeatable read');
  });

  it('continues after the database has failed, and says so once for each outage', async () => {
    let broken = true;
    const flaky = aroundQueries(database, (_text, run) =>
      broken ? Promise.reject(new Error('gone')) : run(),
    );
    const clock = new ManualClock();
    const { lines, logger } = collectLog('warn');
    const sequencer = createSequencer({ database: flaky, clock, logger, onNumbered: () => undefined });
    for (const name of ['a', 'b']) {
      await database.query(insertChange, [name]);
      for (broken of [true, true, false]) {
        sequencer.notify();
        await clock.advance(50);
        await sequencer
          .settle()
          .catch((error: Error) => expect([broken, error.message]).toEqual([true, 'gone']));
      }
    }
    expect(await numbers()).toEqual([
      ['a', 1],
      ['b', 2],
    ]);
    expect(lines).toHaveLength(2);
  });
});

/** Runs `work` while the database has this identity. */
async function asCluster(db: Queryable, cluster: string, work: () => Promise<void>): Promise<void> {
  const [row] = await db.query<{ text: string }>(
    `SELECT pg_get_functiondef('connector.present_cluster()'::regprocedure) AS text`,
  );
  await db.query(
    `CREATE OR REPLACE FUNCTION connector.present_cluster() RETURNS text LANGUAGE sql AS $$ SELECT '${cluster}'::text $$`,
  );
  await work();
  await db.query(row?.text ?? '');
}

/** Whether some statement of this database waits for a lock. */
async function isBlocked(db: Queryable): Promise<boolean> {
  const rows = await db.query(
    `SELECT FROM pg_stat_activity a WHERE a.datname = current_database() AND cardinality(pg_blocking_pids(a.pid)) > 0`,
  );
  return rows.length > 0;
}

async function readChangeNames(db: Database, after: number): Promise<string[]> {
  return (await readChanges(db, after, 100)).map((change) => change.connectionId);
}

describe('several processes that write, number and read changes', () => {
  it('show every reader every change once, in order', { timeout: 60_000 }, async () => {
    const perProcess = 60;
    const connections = ['c-one', 'c-two', 'c-three'];
    const writers = connections.map((connection) => {
      const script = new URL('./writer-process.ts', import.meta.url).pathname;
      const child = spawn(process.execPath, [script, database.url, connection, String(perProcess)], {
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      return once(child, 'exit');
    });

    let writing = true;
    const readers = [0, 1].map(async () => {
      const seen: Change[] = [];
      while (writing || seen.length < expected) {
        const next = await readChanges(database, seen.length, 37);
        expect(next.map((change) => change.seq)).toEqual(next.map((_, index) => seen.length + index + 1));
        seen.push(...next);
      }
      return seen;
    });
    const expected = connections.length * (1 + perProcess * 3);
    const exits = await Promise.all(writers);
    expect(exits.map(([code]) => code)).toEqual([0, 0, 0]);
    await sequencerOn(database).settle();
    writing = false;

    for (const seen of await Promise.all(readers)) {
      expect(seen).toHaveLength(expected);
      for (const connection of connections) {
        for (let index = 0; index < perProcess; index += 1) {
          const told = seen.filter(
            (change) => 'messageId' in change && change.messageId === `${connection}-${index}`,
          );
          expect(told.map((change) => [change.type, Reflect.get(change.data, 'status')])).toEqual([
            ['message.created', 'sent'],
            ['message.status', 'delivered'],
            ['message.status', 'read'],
          ]);
        }
      }
    }
  });
});
