import { EventEmitter, once } from 'node:events';
import type postgres from 'postgres';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Database,
  DatabaseUnavailable,
  isConnectionFailure,
  type Queryable,
  QueryDeadlineExceeded,
} from '../../../src/runtime/database/database.ts';
import type { Pool } from '../../../src/runtime/database/pool.ts';
import { startWatchdog } from '../../../src/runtime/database/watchdog.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';
import { asAdmin, createTestDatabase, openPool } from '../../support/database.ts';
import { startFaultProxyFor } from '../../support/fault-proxy.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { ofTest } from '../../support/of-file.ts';

const logger = createLogger({ level: 'silent', name: 'test' });

/** Ends every backend of the database, as an administrator or a failover does. */
async function killBackends(admin: postgres.Sql, url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  await admin`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`;
}

describe('lost connections', () => {
  const test = ofTest(createTestDatabase, (made) => made.drop());
  const proxy = ofTest(() => startFaultProxyFor(test.url, 5432));
  let database: Database;

  /** Opens a pool that is probed often. No probe fails because the machine is busy, unless a test has it fail sooner. */
  const open = (watchdog = { everyMs: 200, probeMs: 5_000 }): void => {
    database = openPool(proxy.route(test.url), { poolSize: 8, deadlineMs: 2_000, watchdog });
  };

  beforeEach(async () => {
    open();
    await database.query('create table entry (id int primary key, half text)');
    await database.query('create table total (n int)');
    await database.query('insert into total values (0)');
  });
  afterEach(() => database.close());

  /** A probe that began before may still fail, and replaces the connections once more. */
  const thaw = async (): Promise<void> => {
    proxy.thaw();
    await expect.poll(() => database.ping().catch(String)).toBeUndefined();
  };

  /** A transaction of two dependent writes, with a callback that ignores errors. */
  const work = (tx: Queryable, id: number): Promise<void> =>
    stubborn(
      () => tx.query("insert into entry values ($1, 'first')", [id * 2]),
      () => tx.query("insert into entry values ($1, 'second')", [id * 2 + 1]),
      () => tx.query('update total set n = n + 1'),
    );

  it('commits all or nothing while backends are killed repeatedly, and leaves no promise unsettled', async () => {
    let over = false;
    const settled = new EventEmitter();
    const committed: number[] = [];
    const notCommitted: number[] = [];
    let unknown = 0;
    let next = 0;
    const client = async (): Promise<void> => {
      while (!over) {
        next += 1;
        const id = next;
        try {
          await database.transaction((tx) => work(tx, id));
          committed.push(id);
        } catch (error) {
          expect(isConnectionFailure(error)).toBe(true);
          if (Reflect.get(Object(error), 'mayHaveCommitted') === true) unknown += 1;
          else notCommitted.push(id);
        }
        settled.emit('one');
      }
    };
    await asAdmin(async (admin) => {
      const killer = async (): Promise<void> => {
        // Each kill hits whatever is in progress some transactions later.
        for (let kills = 0; kills < 24; kills += 1) {
          for (let more = kills % 12; more >= 0; more -= 1) await once(settled, 'one');
          await killBackends(admin, test.url);
        }
        over = true;
      };
      await Promise.all([killer(), ...Array.from({ length: 16 }, client)]);
    });

    const rows = await database.query<{ id: number }>('select id from entry');
    const stored = new Set(rows.map(({ id }) => id));
    const [total] = await database.query<{ n: number }>('select n from total');
    expect(committed.length).toBeGreaterThan(0);
    expect(notCommitted.length).toBeGreaterThan(0);
    expect(committed.filter((id) => !stored.has(id * 2) || !stored.has(id * 2 + 1))).toEqual([]);
    expect(notCommitted.filter((id) => stored.has(id * 2) || stored.has(id * 2 + 1))).toEqual([]);
    expect(stored.size).toBe((total?.n ?? 0) * 2);
    expect((total?.n ?? 0) - committed.length).toBeLessThanOrEqual(unknown);
    expect(database.health).toMatchObject({ busy: 0, waiting: 0 });
  });

  it('runs the later queries of a callback whose backend died on no other connection', async () => {
    const begun = Promise.withResolvers<number>();
    const resume = Promise.withResolvers<void>();
    const afterwards = Promise.withResolvers<unknown>();
    const outcome = database
      .transaction(async (tx) => {
        const [row] = await tx.query<{ pid: number }>('select pg_backend_pid() as pid');
        begun.resolve(row?.pid ?? 0);
        await resume.promise;
        await tx.query("insert into entry values (1, 'stray')").then(afterwards.resolve, afterwards.resolve);
      })
      .catch((error: unknown) => error);
    const pid = await begun.promise;
    await asAdmin((admin) => admin`select pg_terminate_backend(${pid})`);
    expect(await outcome).toSatisfy(isConnectionFailure);
    await database.ping();
    resume.resolve();
    expect(await afterwards.promise).toBeInstanceOf(Error);
    expect(await database.query('select * from entry')).toEqual([]);
  });

  it('rejects everything by its deadline on a frozen network, then works on new connections', async () => {
    await Promise.all(Array.from({ length: 8 }, () => database.query('select pg_sleep(0.01)')));
    proxy.freeze();
    const outcomes = await Promise.allSettled([
      ...Array.from({ length: 20 }, () => database.query('select 1', [], { deadlineMs: 600 })),
      ...Array.from({ length: 20 }, (_, id) =>
        database.transaction((tx) => work(tx, id), { deadlineMs: 600 }),
      ),
      database.ping(300),
    ]);
    expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true);
    expect(database.health.deadlineHits).toBeGreaterThan(0);
    await thaw();
    expect(await database.query('select * from entry')).toEqual([]);
  });

  it('replaces the pool if a probe fails, and fails callers with long deadlines at once', async () => {
    await database.close();
    open({ everyMs: 200, probeMs: 1_000 });
    const begun = Promise.withResolvers<void>();
    const transaction = database.transaction(
      async (tx) => {
        await tx.query('select 1');
        begun.resolve();
        await tx.query('select pg_sleep(30)');
      },
      { deadlineMs: 60_000 },
    );
    await begun.promise;
    proxy.freeze();
    await expect(transaction).rejects.toMatchObject({ reason: 'lost', mayHaveCommitted: false });
    expect(database.health).toMatchObject({ generation: 2, replacedPools: 1, open: 0, busy: 0 });
    await thaw();
  });

  it('renews its idle connections if one reports that the server is read-only, and keeps busy ones', async () => {
    const name = new URL(test.url).pathname.slice(1);
    const readOnly = (state: 'on' | 'off'): Promise<unknown> =>
      asAdmin((admin) => admin.unsafe(`alter database ${name} set default_transaction_read_only = ${state}`));
    await readOnly('on');
    await database.close();
    // A probe would take the idle connection for a moment.
    open({ everyMs: 60_000, probeMs: 5_000 });
    const resume = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const begun = resume.map(() => Promise.withResolvers<void>());
    const [idle, busy] = resume.map(({ promise }, at) =>
      database.transaction(
        async (tx) => {
          await tx.query('select 1');
          begun[at]?.resolve();
          await promise;
          return await tx.query('select 2 as two');
        },
        { deadlineMs: 60_000 },
      ),
    );
    await Promise.all(begun.map(({ promise }) => promise));
    await readOnly('off');
    resume[0]?.resolve();
    await idle;
    await expect(database.query('insert into total values (1)')).rejects.toMatchObject({ code: '25006' });
    await database.query('insert into total values (2)');
    resume[1]?.resolve();
    expect(await busy).toEqual([{ two: 2 }]);
    expect(database.health).toMatchObject({ open: 1, replacedPools: 0, deadlineHits: 0 });
  });

  it('drops idle connections that died unnoticed', async () => {
    await database.close();
    open({ everyMs: 200, probeMs: 1_000 });
    await Promise.all(Array.from({ length: 3 }, () => database.query('select pg_sleep(0.05)')));
    proxy.forget();
    const replaced = { generation: 2, replacedPools: 1, open: 1, deadlineHits: 0 };
    await expect.poll(() => database.health).toMatchObject(replaced);
    expect(await database.query('select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('does not mistake a long statement on a healthy server for a dead connection', async () => {
    await database.query('select pg_sleep(1.2)');
    expect(database.health).toMatchObject({ generation: 1, replacedPools: 0 });
  });

  it('reports a transaction as unknown if the answer to COMMIT was lost after it committed', async () => {
    const transaction = database.transaction(
      async (tx) => {
        await work(tx, 1);
        proxy.freeze('down');
      },
      { deadlineMs: 500 },
    );
    const error = await transaction.catch((e: unknown) => e);
    expect(error).toMatchObject({ mayHaveCommitted: true });
    expect(error instanceof QueryDeadlineExceeded || error instanceof DatabaseUnavailable).toBe(true);
    await thaw();
    expect(await database.query('select n from total')).toEqual([{ n: 1 }]);
  });

  it('reports a transaction as not committed if the connection was cut before COMMIT', async () => {
    const transaction = database.transaction(async (tx) => {
      await work(tx, 1);
      proxy.cut();
      await tx.query('select 1');
    });
    await expect(transaction).rejects.toMatchObject({ reason: 'lost', mayHaveCommitted: false });
    expect(await database.query('select n from total')).toEqual([{ n: 0 }]);
  });

  it('settles every call if connections are reset repeatedly under load', async () => {
    let over = false;
    let answered = 0;
    const asked = new EventEmitter();
    const client = async (): Promise<void> => {
      while (!over) {
        asked.emit('one');
        await database.query('select $1::int as i, pg_sleep(0.005)', [answered]).then(
          () => {
            answered += 1;
          },
          (error: unknown) => expect(isConnectionFailure(error)).toBe(true),
        );
      }
    };
    const cutter = async (): Promise<void> => {
      for (let cuts = 0; cuts < 24; cuts += 1) {
        for (let more = cuts; more >= 0; more -= 1) await once(asked, 'one');
        proxy.cut();
      }
      over = true;
    };
    await Promise.all([cutter(), ...Array.from({ length: 20 }, client)]);
    expect(answered).toBeGreaterThan(0);
    expect(database.health).toMatchObject({ busy: 0, waiting: 0 });
    await database.ping();
  });
});

/** Runs all steps in order, even after failures, and throws the first failure at the end. */
async function stubborn(...steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  let failure: { readonly error: unknown } | undefined;
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      failure ??= { error };
    }
  }
  if (failure !== undefined) throw failure.error;
}

describe('a probe', () => {
  it('may follow another one, and closes a connection that opens once its pool is closed', async () => {
    const opened: PromiseWithResolvers<object>[] = [];
    const openExtra = (): Promise<object> => {
      const next = Promise.withResolvers<object>();
      opened.push(next);
      return next.promise;
    };
    const pool = { takeIdle: () => undefined, adopt: () => undefined, openExtra } as unknown as Pool;
    const clock = new ManualClock();
    const watchdog = startWatchdog({ pool, everyMs: 1_000, probeMs: 100, clock, logger });
    watchdog.suspect();
    watchdog.suspect();
    expect(opened).toHaveLength(1);
    opened[0]?.resolve({});
    await clock.advance(0);
    watchdog.suspect();
    expect(opened).toHaveLength(2);
    watchdog.stop();
    const closed: string[] = [];
    opened[1]?.resolve({ close: async () => closed.push('closed') });
    await clock.advance(0);
    expect(closed).toEqual(['closed']);
  });
});
