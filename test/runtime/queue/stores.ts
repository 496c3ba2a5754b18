import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { expect } from 'vitest';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';
import { type OpenQueuesOptions, openQueues } from '../../../src/runtime/queue/open-queues.ts';
import type { Queues } from '../../../src/runtime/queue/queues.ts';
import { asAdmin, createTestDatabase } from '../../support/database.ts';
import { PGBOUNCER, startPgbouncer } from '../../support/pgbouncer.ts';
import { REDIS_MISSING, startTestRedis } from '../../support/redis.ts';

/** A store of its own for a test file, on which queues are opened and which can be maltreated. */
export interface StoreUnderTest {
  /** Opens queues as another process would. Those with the same prefix share their jobs. */
  open(options?: Partial<OpenQueuesOptions>): Promise<Queues>;
  /** Loses everything, as a store without persistence does at a restart. */
  wipe(): Promise<void>;
  /** Ends every connection to the store, as an administrator or a fail-over does. */
  killConnections(): Promise<void>;
  /** How many jobs the store holds of a queue, waiting or running. */
  countJobs(queue: string): Promise<number>;
  close(): Promise<void>;
}

export interface StoreKind {
  readonly name: string;
  readonly backend: 'postgres' | 'redis';
  /** Why it cannot be tested here. */
  readonly missing: string | undefined;
  readonly start: () => Promise<StoreUnderTest>;
}

const logger = createLogger({ level: 'silent', name: 'test' });

function opener(defaults: Pick<OpenQueuesOptions, 'databaseUrl' | 'redisUrl'>): {
  open: StoreUnderTest['open'];
  closeAll: () => Promise<void>;
} {
  const opened: Queues[] = [];
  const prefix = `test-${randomBytes(4).toString('hex')}`;
  return {
    async open(options) {
      const queues = await openQueues({
        ...defaults,
        prefix,
        clock: systemClock,
        logger,
        graceMs: 200,
        ...options,
      });
      opened.push(queues);
      return queues;
    },
    async closeAll() {
      await Promise.all(opened.map((queues) => queues.close()));
    },
  };
}

/** `route` gives the URL under which the queues reach the database, and a way to end that. */
async function startPostgres(
  route: (url: string) => Promise<{ url: string; stop(): Promise<void> }>,
): Promise<StoreUnderTest> {
  const database = await createTestDatabase();
  const routed = await route(database.url);
  const name = new URL(database.url).pathname.slice(1);
  const { open, closeAll } = opener({ databaseUrl: routed.url });
  const query = async (text: string): Promise<Record<string, unknown>[]> => {
    const client = new Client(database.url);
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.end();
    }
  };
  return {
    open,
    async wipe() {
      const truncate = 'truncate queue.job, queue.scheduler, queue.dedup, queue.dedup_next cascade';
      // Workers lock the same tables in another order, so that this may have to be tried again.
      const wiping = (): Promise<unknown> =>
        query(truncate).then(
          () => undefined,
          (error: unknown) => error,
        );
      await expect.poll(wiping, { timeout: 20_000 }).toBeUndefined();
    },
    killConnections: () =>
      asAdmin(async (sql) => {
        await sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name} and pid <> pg_backend_pid()`;
      }),
    countJobs: async (queue) =>
      Number(
        (await query(`select count(*) from queue.job where queue like 'test-%-${queue}'`))[0]?.['count'],
      ),
    async close() {
      await closeAll();
      await routed.stop();
      await database.drop();
    },
  };
}

function startDirectPostgres(): Promise<StoreUnderTest> {
  return startPostgres((url) => Promise.resolve({ url, stop: () => Promise.resolve() }));
}

function startPooledPostgres(): Promise<StoreUnderTest> {
  return startPostgres(async (url) => {
    const pooler = await startPgbouncer(PGBOUNCER ?? '', url, 4);
    return { url: `${pooler.url}?prepare=false`, stop: () => pooler.stop() };
  });
}

async function startRedis(): Promise<StoreUnderTest> {
  const given = process.env['TEST_REDIS_URL'];
  const server = given === undefined || given === '' ? await startTestRedis() : undefined;
  const url = server?.url ?? given ?? '';
  const { open, closeAll } = opener({ databaseUrl: 'postgres://not-used', redisUrl: url });
  const admin = new Redis(url);
  const keys = (pattern: string): Promise<string[]> => admin.keys(pattern);
  return {
    open,
    async wipe() {
      const all = await keys('{test-*');
      if (all.length > 0) await admin.del(...all);
    },
    killConnections: async () => void (await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')),
    async countJobs(queue) {
      const all = await keys(`{test-*-${queue}}:test-*-${queue}:*`);
      const types = await Promise.all(all.map(async (key) => [key, await admin.type(key)] as const));
      // A job is a hash of its own; so is what is known of a queue and of a schedule.
      return types.filter(([key, type]) => type === 'hash' && !/:(meta|repeat:[^:]+)$/.test(key)).length;
    },
    async close() {
      await closeAll();
      admin.disconnect();
      await server?.stop();
    },
  };
}

const redisMissing =
  process.env['TEST_REDIS_URL'] === undefined && REDIS_MISSING !== undefined
    ? `${REDIS_MISSING}, and TEST_REDIS_URL is not set`
    : undefined;

const poolerMissing = PGBOUNCER === undefined ? 'there is no pgbouncer on this machine' : undefined;

/** Every store the queues run on. The whole suite runs on each. */
export const STORES: readonly StoreKind[] = [
  { name: 'postgres', backend: 'postgres', missing: undefined, start: startDirectPostgres },
  {
    name: 'postgres behind pgbouncer',
    backend: 'postgres',
    missing: poolerMissing,
    start: startPooledPostgres,
  },
  { name: 'redis', backend: 'redis', missing: redisMissing, start: startRedis },
];
