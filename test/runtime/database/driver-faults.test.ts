import { beforeEach, describe, expect, it } from 'vitest';
import type { Queryable } from '../../../src/runtime/database/database.ts';
import { asAdmin, createTestDatabase, openPool } from '../../support/database.ts';
import { ofTest } from '../../support/of-file.ts';

/**
 * Open faults of the driver that must not reach a caller: porsager/postgres 1119 and 1181 (rows), 1189 and 1204
 * (transactions that share a connection), 1197 (repeated statements) and 1208 (a connection that ends during a write).
 * Several hosts (815) are in `hosts.test.ts`.
 */
describe.each(['', '?prepare=false'])('faults of the driver do not show with %j', (query) => {
  const test = ofTest(createTestDatabase, (made) => made.drop());
  const database = ofTest(async () => open(1));

  beforeEach(async () => {
    await database.query('create table item (id int primary key, text text)');
    await database.query("insert into item values (1, 'a'), (2, 'b'), (3, 'c')");
  });

  const open = (poolSize: number) => openPool(`${test.url}${query}`, { poolSize });

  const pidOf = async (db: Queryable): Promise<number | undefined> => {
    const [row] = await db.query<{ pid: number }>('select pg_backend_pid() as pid');
    return row?.pid;
  };

  /** What fails after two rows, and the SQLSTATE of the failure. */
  const FAILURES: readonly {
    readonly what: string;
    readonly code: string;
    fail(db: Queryable): Promise<unknown>;
  }[] = [
    {
      what: 'a division by zero',
      code: '22012',
      fail: (db) => db.query('select 1 / (3 - i) as n from generate_series(1, 5) i'),
    },
    {
      what: 'a lock',
      code: '55P03',
      async fail(db) {
        const other = open(1);
        const held = Promise.withResolvers<void>();
        const locked = Promise.withResolvers<void>();
        const holder = other.transaction(async (tx) => {
          await tx.query('select 1 from item where id = 3 for update');
          locked.resolve();
          await held.promise;
        });
        await locked.promise;
        const failed = await Promise.allSettled([
          db.query('select * from item order by id for update nowait'),
        ]);
        held.resolve();
        await holder;
        await other.close();
        if (failed[0].status === 'rejected') throw failed[0].reason;
      },
    },
    {
      what: 'pg_cancel_backend',
      code: '57014',
      async fail(db) {
        const pid = await pidOf(db);
        const cancelled = db.query(
          'select case when i = 3 then pg_sleep(100) end from generate_series(1, 5) i',
        );
        const asleep = (sql: Parameters<Parameters<typeof asAdmin>[0]>[0]) =>
          sql`select pg_cancel_backend(pid) from pg_stat_activity where pid = ${pid ?? 0} and wait_event = 'PgSleep'`;
        const stop = asAdmin(async (sql) => {
          while ((await asleep(sql)).length === 0);
        });
        await Promise.all([cancelled, stop]);
      },
    },
    {
      what: 'statement_timeout',
      code: '57014',
      async fail(db) {
        await db.query("select set_config('statement_timeout', '50', true)");
        await db.query('select case when i = 3 then pg_sleep(100) end from generate_series(1, 5) i');
      },
    },
  ];

  it.each(FAILURES.filter(({ what }) => what !== 'statement_timeout'))(
    'a statement that fails after two rows, by $what, leaves no holes in the next answer',
    async ({ fail, code }) => {
      const before = await pidOf(database);
      await expect(fail(database)).rejects.toMatchObject({ code });
      expect(await database.query('select 42 as answer')).toStrictEqual([{ answer: 42 }]);
      expect(await database.query('select 1', [], { rows: 'arrays' })).toStrictEqual([[1]]);
      expect(await pidOf(database)).not.toBe(before);
    },
  );

  it.each(FAILURES)(
    'a transaction that fails after two rows, by $what, rolls back and leaves no holes in the next one',
    async ({ fail, code }) => {
      const before = await pidOf(database);
      const failing = database.transaction(async (tx) => {
        await tx.query("insert into item values (7, 'lost')");
        await fail(tx);
      });
      await expect(failing).rejects.toMatchObject({ code });
      const next = await database.transaction((tx) => tx.query('select 42 as answer'));
      expect(next).toStrictEqual([{ answer: 42 }]);
      expect(await database.query('select 1 from item where id = 7')).toEqual([]);
      expect(await pidOf(database)).not.toBe(before);
    },
  );

  it('a statement that fails before its first row keeps its session', async () => {
    const before = await pidOf(database);
    await expect(database.query('select 1/0')).rejects.toMatchObject({ code: '22012' });
    expect(await pidOf(database)).toBe(before);
  });

  it('a session whose answer cannot be read is not used again', async () => {
    const before = await pidOf(database);
    const tooLarge =
      'select case when i = 3 then 9223372036854775807 else i end from generate_series(1, 5) i';
    await expect(database.query(tooLarge)).rejects.toThrow(/greater than 2\^53/);
    expect(await database.query('select 42 as answer')).toStrictEqual([{ answer: 42 }]);
    expect(await pidOf(database)).not.toBe(before);
  });

  it('a transaction shares its connection with no other, however much it sends at once', async () => {
    const pool = open(2);
    const text = 'x'.repeat(50_000);
    const long = pool.transaction(async (tx) => {
      await Promise.all(
        Array.from({ length: 250 }, (_, id) => tx.query('insert into item values ($1, $2)', [10 + id, text])),
      );
      throw new Error('no');
    });
    const short = Array.from({ length: 20 }, (_, n) =>
      pool.transaction((tx) => tx.query('insert into item values ($1, $2)', [1_000 + n, 'kept'])),
    );
    await expect(long).rejects.toThrow('no');
    await Promise.all(short);
    expect(await pool.query('select count(*)::int as n, min(id) as first from item where id > 3')).toEqual([
      { n: 20, first: 1_000 },
    ]);
    const inTransaction =
      "select 1 from pg_stat_activity where datname = current_database() and state like 'idle in%'";
    expect(await pool.query(inTransaction)).toEqual([]);
    await pool.close();
  });

  it('a statement that is prepared again sends its parameters unchanged', async () => {
    await database.query('create table thing (id int, data jsonb, yes bool, bytes bytea)');
    const insert = 'insert into thing values (1, $1::jsonb, $2::bool, $3::bytea) returning *';
    const params = ['{"a":"b"}', true, Buffer.from([0, 255])];
    const row = { id: 1, data: { a: 'b' }, yes: true, bytes: Buffer.from([0, 255]) };
    expect(await database.query(insert, params)).toEqual([row]);
    await database.query('alter table thing add column extra int');
    expect(await database.query(insert, params)).toEqual([{ ...row, extra: null }]);
  });

  it('a backend that ends during a transaction fails only that transaction', async () => {
    const other = open(1);
    const failing = database.transaction(async (tx) => {
      const pid = await pidOf(tx);
      const asleep = tx.query('select pg_sleep(100)');
      await Promise.all([asleep, other.query('select pg_terminate_backend($1::int)', [pid])]);
    });
    await expect(failing).rejects.toThrow(/terminating connection|lost/);
    expect(await database.query('select 42 as answer')).toStrictEqual([{ answer: 42 }]);
    await other.close();
  });
});
