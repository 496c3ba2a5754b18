import postgres from 'postgres';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../../src/runtime/database/database.ts';
import { withDatabase } from '../../../src/runtime/database/database-url.ts';
import { orm } from '../../../src/runtime/database/orm.ts';
import { createTestDatabase, openPool, type TestDatabase } from '../../support/database.ts';
import { PGBOUNCER, type Pooler, startPgbouncer } from '../../support/pgbouncer.ts';

describe.skipIf(PGBOUNCER === undefined)(
  'behind pgbouncer in transaction mode (skipped if it is not installed)',
  () => {
    let test: TestDatabase;
    let pooler: Pooler;
    let database: Database;

    beforeEach(async () => {
      test = await createTestDatabase();
      pooler = await startPgbouncer(PGBOUNCER ?? '', test.url, 2);
      database = openPool(`${pooler.url}?prepare=false`, { poolSize: 6, deadlineMs: 3_000 });
    });

    afterEach(async () => {
      await database.close();
      await pooler.stop();
      await test.drop();
    });

    it('says what to add to the URL if it is missing', async () => {
      const unaware = openPool(pooler.url);
      await expect(unaware.ping()).rejects.toThrow(/pgbouncer in transaction mode add \?prepare=false/);
      await unaware.close();
    });

    it('reports what is wrong with the pooler, not a setting that is set', async () => {
      const unknown = openPool(`${withDatabase(pooler.url, 'unknown_to_it')}?prepare=false`);
      const failure = unknown.ping();
      await expect(failure).rejects.toThrow(/it reports "(?:bouncer config error|no such database)/);
      await expect(failure).rejects.not.toThrow(/prepare=false/);
      await unknown.close();
      const extra = openPool(`${pooler.url}?prepare=false&lock_timeout=5`);
      await expect(extra.ping()).rejects.toThrow(/lock_timeout.*ignore_startup_parameters/);
      await extra.close();
    });

    it('serves more callers than the pooler has connections', async () => {
      await database.query('create table item (id int primary key, at bigint)');
      const at = 1_700_000_000_123;
      await Promise.all(
        Array.from({ length: 60 }, (_, id) =>
          database.transaction(async (tx) => {
            await tx.query('insert into item values ($1, $2)', [id * 2, at]);
            await tx.query('insert into item values ($1, $2)', [id * 2 + 1, at]);
          }),
        ),
      );
      expect(await database.query('select count(*)::int as n, max(at) as at from item')).toEqual([
        { n: 120, at },
      ]);
    });

    it('limits each statement by its deadline, without affecting others', async () => {
      const limit = "select current_setting('statement_timeout') as value";
      expect(await database.transaction((tx) => tx.query(limit))).toEqual([{ value: '4s' }]);
      expect(await database.transaction((tx) => tx.query(limit), { deadlineMs: 9_000 })).toEqual([
        { value: '10s' },
      ]);
      expect(await database.query(limit)).toEqual([{ value: '4s' }]);
      expect(await database.query(limit, [], { deadlineMs: 9_000 })).toEqual([{ value: '10s' }]);
      const other = postgres(pooler.url, { max: 1, prepare: false });
      for (let times = 0; times < 10; times += 1) {
        expect([...(await other.unsafe(limit))]).toEqual([{ value: '0' }]);
      }
      await other.end();
    });

    it('reports the error of a single statement, rolls it back, and continues', async () => {
      await database.query('create table item (id int primary key)');
      await database.query('insert into item values ($1)', [1]);
      const twice = database.query('insert into item select generate_series(0, 1)');
      await expect(twice).rejects.toMatchObject({ name: 'QueryFailed', code: '23505' });
      await database.query('create table part (id int references item deferrable initially deferred)');
      const atCommit = database.query('insert into part values ($1)', [7]);
      await expect(atCommit).rejects.toMatchObject({ name: 'QueryFailed', code: '23503' });
      expect(await database.query('select (select count(*)::int from part) as parts, id from item')).toEqual([
        { parts: 0, id: 1 },
      ]);
    });

    it('uses no JIT compilation, without changing the setting for other users of the pooler', async () => {
      const setting = "select current_setting('jit') as jit";
      const off = [{ jit: 'off' }];
      expect(await database.query(setting)).toEqual(off);
      expect(await database.transaction((tx) => tx.query(setting))).toEqual(off);
      expect(await orm(database).execute(setting)).toEqual(off);
      const other = postgres(pooler.url, { max: 1, prepare: false });
      expect([...(await other.unsafe(setting))]).toEqual([{ jit: 'on' }]);
      await other.end();
    });

    it('cancels statements past their deadline through the pooler', async () => {
      await expect(database.query('select pg_sleep(100)', [], { deadlineMs: 150 })).rejects.toMatchObject({
        name: 'QueryDeadlineExceeded',
      });
      const direct = openPool(test.url, { name: 'check' });
      const active = async (): Promise<number> => {
        const rows = await direct.query(
          "select 1 from pg_stat_activity where datname = current_database() and state = 'active' and query like '%pg_sleep(100)%' and pid <> pg_backend_pid()",
        );
        return rows.length;
      };
      while ((await active()) > 0);
      await direct.close();
    });
  },
);
