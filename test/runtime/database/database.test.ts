import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { inspect, promisify } from 'node:util';
import { sql } from 'drizzle-orm';
import { integer, jsonb, pgTable, timestamp } from 'drizzle-orm/pg-core';
import { beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import {
  type Database,
  DatabaseUnavailable,
  isConnectionFailure,
  openDatabase,
  type Queryable,
  QueryDeadlineExceeded,
  QueryFailed,
  sqlState,
  TransactionOver,
} from '../../../src/runtime/database/database.ts';
import { orm } from '../../../src/runtime/database/orm.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';
import { asAdmin, createTestDatabase, openPool } from '../../support/database.ts';
import { ofTest } from '../../support/of-file.ts';

const logger = createLogger({ level: 'silent', name: 'test' });

/** Waits until this database has no backend, or none that runs a statement like `pattern`. */
async function untilGone(url: string, pattern?: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  await asAdmin(async (admin) => {
    const running = pattern === undefined ? admin`` : admin`and state = 'active' and query like ${pattern}`;
    while ((await admin`select 1 from pg_stat_activity where datname = ${name} ${running}`).length > 0);
  });
}

describe('database', () => {
  const test = ofTest(createTestDatabase, (made) => made.drop());
  const database = ofTest(async () =>
    openPool(test.url, { name: 'database-test', poolSize: 3, deadlineMs: 5_000 }),
  );

  beforeEach(async () => {
    await database.query('create table item (id int primary key, name text)');
  });

  const names = async (): Promise<unknown[]> => {
    const rows = await database.query<{ name: string }>('select name from item order by id');
    return rows.map(({ name }) => name);
  };

  describe('queries', () => {
    it('answers with plain arrays of plain rows', async () => {
      const rows = await database.query('select $1::int as one, null as nothing', [1]);
      expect(rows).toStrictEqual([{ one: 1, nothing: null }]);
      expect(Object.getPrototypeOf(rows)).toBe(Array.prototype);
    });

    it('reports the SQLSTATE of an error, but none of the values', async () => {
      await database.query('insert into item values (1, $1)', ['canary-4711']);
      const error = await database.query('insert into item values (1, $1)', ['canary-4711']).catch((e) => e);
      expect(error).toBeInstanceOf(QueryFailed);
      expect(error).toMatchObject({ code: '23505', message: expect.stringContaining('item_pkey') });
      expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('canary-4711');
      expect(sqlState(error)).toBe('23505');
      expect(isConnectionFailure(error)).toBe(false);
    });

    it('refuses two statements in one query', async () => {
      await expect(database.query("insert into item values (1, 'a'); select 1")).rejects.toMatchObject({
        code: '42601',
      });
      expect(await names()).toEqual([]);
    });

    it('sets the session to UTC, ISO dates, its name and timeouts near the deadline', async () => {
      const [row] = await database.query(
        `select current_setting('TimeZone') zone, current_setting('DateStyle') style,
                current_setting('application_name') name, current_setting('statement_timeout') statement,
                current_setting('lock_timeout') lock,
                current_setting('idle_in_transaction_session_timeout') idle`,
      );
      expect(row).toEqual({
        zone: 'UTC',
        style: 'ISO, MDY',
        name: 'database-test',
        statement: '6s',
        lock: '2500ms',
        idle: '10s',
      });
    });

    it('uses no JIT compilation, alone or in a transaction', async () => {
      const setting = "select current_setting('jit') as jit";
      expect(await database.query(setting)).toEqual([{ jit: 'off' }]);
      expect(await database.transaction((tx) => tx.query(setting))).toEqual([{ jit: 'off' }]);
    });

    it('gives up on a lock before the deadline, and keeps the connection', async () => {
      await database.query("insert into item values (1, 'a')");
      const held = Promise.withResolvers<void>();
      const locked = Promise.withResolvers<void>();
      const holder = database.transaction(
        async (tx) => {
          await tx.query('select * from item for update');
          locked.resolve();
          await held.promise;
        },
        { deadlineMs: 25_000 },
      );
      await locked.promise;
      const waiter = database.transaction((tx) => tx.query("update item set name = 'b'"), {
        deadlineMs: 1_500,
      });
      const error = await waiter.catch((e) => e);
      expect(sqlState(error)).toBe('55P03');
      expect(error.message).toMatch(
        /^canceling statement due to lock timeout: another session .* pg_stat_activity/,
      );
      expect(isConnectionFailure(error)).toBe(true);
      expect(database.health.deadlineHits).toBe(0);
      held.resolve();
      await holder;
    });

    it('survives a change of a table with a prepared statement', async () => {
      await database.query("insert into item values (1, 'a')");
      expect(await database.query('select * from item')).toEqual([{ id: 1, name: 'a' }]);
      await database.query('alter table item add column extra int');
      expect(await database.query('select * from item')).toEqual([{ id: 1, name: 'a', extra: null }]);
    });
  });

  describe('deadlines', () => {
    /** A database with long server timeouts, so that only a cancel request can end a statement early. */
    const withPatientServer = async (work: (patient: Database) => Promise<void>): Promise<void> => {
      const options = { url: test.url, name: 'test', poolSize: 3, deadlineMs: 200_000, logger };
      const patient = openDatabase({ ...options, clock: systemClock });
      // To connect may take longer than a short deadline.
      await patient.query('select 1');
      await work(patient);
      await patient.close();
    };

    it('rejects at the deadline and cancels the statement on the server', () =>
      withPatientServer(async (patient) => {
        const error = await patient.query('select pg_sleep(100)', [], { deadlineMs: 150 }).catch((e) => e);
        expect(error).toBeInstanceOf(QueryDeadlineExceeded);
        expect(error).toMatchObject({ deadlineMs: 150, mayHaveCommitted: true });
        expect(isConnectionFailure(error)).toBe(true);
        await untilGone(test.url, '%pg_sleep(100)%');
        expect(patient.health.deadlineHits).toBe(1);
        expect(await patient.query('select 1 as one')).toEqual([{ one: 1 }]);
      }));

    it('applies to a whole transaction, whatever its callback waits for', async () => {
      const error = await database
        .transaction(
          async (tx) => {
            await tx.query("insert into item values (1, 'a')");
            await new Promise(() => undefined);
          },
          { deadlineMs: 150 },
        )
        .catch((e) => e);
      expect(error).toBeInstanceOf(QueryDeadlineExceeded);
      expect(error.mayHaveCommitted).toBe(false);
      expect(await names()).toEqual([]);
    });

    it('is enforced by the server too, in case the process is gone', async () => {
      const short = openPool(test.url, { deadlineMs: 29_000 });
      const [row] = await short.query("select current_setting('statement_timeout') as value");
      expect(row).toEqual({ value: '30s' });
      await short.close();
    });

    it('applies while waiting for a connection, when nothing has been sent', async () => {
      const held = Promise.withResolvers<void>();
      const holders = Array.from({ length: 3 }, () => database.transaction(() => held.promise));
      const error = await database
        .query("insert into item values (1, 'a')", [], { deadlineMs: 100 })
        .catch((e) => e);
      expect(error).toMatchObject({ name: 'QueryDeadlineExceeded', mayHaveCommitted: false });
      held.resolve();
      await Promise.all(holders);
      expect(await names()).toEqual([]);
    });

    it('can be extended for one query', async () => {
      const limit = async (options?: { deadlineMs: number }): Promise<unknown> => {
        const [row] = await database.query(
          "select current_setting('statement_timeout') as value",
          [],
          options,
        );
        return row?.['value'];
      };
      expect([await limit(), await limit({ deadlineMs: 60_000 }), await limit()]).toEqual([
        '6s',
        '61s',
        '6s',
      ]);
    });
  });

  describe('transactions', () => {
    it('commits and returns the result', async () => {
      const result = await database.transaction(async (tx) => {
        await tx.query("insert into item values (1, 'a')");
        return await tx.query('select count(*)::int as n from item');
      });
      expect(result).toEqual([{ n: 1 }]);
      expect(await names()).toEqual(['a']);
    });

    it('rolls back if the callback throws, and rethrows the error', async () => {
      const thrown = new Error('no');
      const work = database.transaction(async (tx) => {
        await tx.query("insert into item values (1, 'a')");
        throw thrown;
      });
      await expect(work).rejects.toBe(thrown);
      expect(await names()).toEqual([]);
      expect(database.health).toMatchObject({ open: 1, busy: 0 });
    });

    it('rejects if the error of a statement was swallowed, instead of reporting a commit', async () => {
      const work = database.transaction(async (tx) => {
        await tx.query("insert into item values (1, 'a')");
        await tx.query('select 1/0').catch(() => undefined);
        // Fails because of the first error, which is the one to report.
        await tx.query('select 1').catch(() => undefined);
        return 'fine';
      });
      await expect(work).rejects.toMatchObject({ code: '22012' });
      expect(await names()).toEqual([]);
    });

    it('rejects queries through the handle of an ended transaction', async () => {
      let kept: Queryable | undefined;
      await database.transaction(async (tx) => {
        kept = tx;
      });
      await expect(kept?.query("insert into item values (9, 'stray')")).rejects.toBeInstanceOf(
        TransactionOver,
      );
      expect(await names()).toEqual([]);
    });

    it('rejects the remaining queries of an abandoned transaction, and commits nothing', async () => {
      const resume = Promise.withResolvers<void>();
      const later = Promise.withResolvers<unknown>();
      const work = database.transaction(
        async (tx) => {
          await tx.query("insert into item values (1, 'a')");
          await resume.promise;
          await tx.query("insert into item values (2, 'stray')").then(later.resolve, later.resolve);
        },
        { deadlineMs: 500 },
      );
      await expect(work).rejects.toBeInstanceOf(QueryDeadlineExceeded);
      resume.resolve();
      expect(await later.promise).toBeInstanceOf(TransactionOver);
      expect(await names()).toEqual([]);
    });

    it('keeps transactions on one connection each', async () => {
      const pids = await Promise.all(
        Array.from({ length: 6 }, () =>
          database.transaction(async (tx) => {
            const [first] = await tx.query('select pg_backend_pid() as pid');
            const [second] = await tx.query('select pg_backend_pid() as pid');
            return first?.['pid'] === second?.['pid'];
          }),
        ),
      );
      expect(pids).toEqual(Array.from({ length: 6 }, () => true));
      expect(database.health.open).toBeLessThanOrEqual(3);
    });
  });

  describe('drizzle', () => {
    const item = pgTable('thing', {
      id: integer('id').primaryKey(),
      at: timestamp('at', { withTimezone: true }),
      data: jsonb('data'),
    });

    beforeEach(async () => {
      await database.query('create table thing (id int primary key, at timestamptz, data jsonb)');
    });

    it('reads what it writes, with the same types', async () => {
      const at = new Date('2026-05-01T10:00:00.250Z');
      const data = { text: '"quoted"', list: [1, 2] };
      await orm(database).insert(item).values({ id: 1, at, data });
      expect(await orm(database).select().from(item)).toEqual([{ id: 1, at, data }]);
      expect(await database.query('select at, data from thing')).toEqual([{ at, data }]);
    });

    it('does not affect the types of other queries', async () => {
      await orm(database).execute(sql`select 1`);
      const [row] = await database.query('select $1::bigint as at, $2::jsonb as data', [5, '{"a":1}']);
      expect(row).toEqual({ at: 5, data: { a: 1 } });
    });

    it('runs in the transaction of its handle', async () => {
      const error = await database
        .transaction(async (tx) => {
          await orm(tx).insert(item).values({ id: 1 });
          await orm(tx).insert(item).values({ id: 1 });
        })
        .catch((e) => e);
      expect(sqlState(error)).toBe('23505');
      expect(await orm(database).select({ id: item.id }).from(item)).toEqual([]);
    });

    it('throws the error of the database, without the values of the statement', async () => {
      const at = orm(database).select().from(item).where(sql`${item.id} = ${'a secret'}::text::int`);
      const error: unknown = await at.catch((e) => e);
      expect(error).toBeInstanceOf(QueryFailed);
      expect(inspect(error)).not.toContain('select');
    });
  });

  describe('closing', () => {
    it('refuses further queries', async () => {
      await database.ping();
      await database.close();
      const error = await database.query('select 1').catch((e) => e);
      expect(error).toBeInstanceOf(DatabaseUnavailable);
      expect(error).toMatchObject({ reason: 'closed', mayHaveCommitted: false });
    });

    it('lets running statements finish, and rejects waiting ones', async () => {
      const held = Promise.withResolvers<void>();
      const started = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
      const holders = started.map(({ resolve }, id) =>
        database.transaction(async (tx) => {
          await tx.query('insert into item values ($1, $2)', [id, `kept ${id}`]);
          resolve();
          await held.promise;
        }),
      );
      await Promise.all(started.map(({ promise }) => promise));
      const waiting = database.query('select 1');
      const closed = database.close();
      await expect(waiting).rejects.toMatchObject({ reason: 'closed' });
      held.resolve();
      await Promise.all([...holders, closed]);
      const rows = await asAdminIn(test.url, 'select name from item order by id');
      expect(rows).toEqual(['kept 0', 'kept 1', 'kept 2']);
    });

    it('leaves nothing open that keeps a process alive', async () => {
      const script = join(import.meta.dirname, 'use-and-close.ts');
      const { stdout } = await promisify(execFile)(process.execPath, [script, test.url], {
        timeout: 100_000,
      });
      expect(JSON.parse(stdout)).toEqual([]);
    });

    it('leaves no connection open on the server', async () => {
      await Promise.all(Array.from({ length: 9 }, () => database.query('select 1')));
      await database.close();
      await untilGone(test.url);
    });
  });
});

async function asAdminIn(url: string, text: string): Promise<unknown[]> {
  const database = openPool(url, { name: 'check', poolSize: 1 });
  try {
    return (await database.query(text)).map((row) => Object.values(row)[0]);
  } finally {
    await database.close();
  }
}
