import { spawnSync } from 'node:child_process';
import { chown, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type postgres from 'postgres';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { withDatabase } from '../../src/runtime/database/database-url.ts';
import { type Campaign, type CampaignOptions, startCampaign } from './campaign.ts';
import { asAdmin } from './database.ts';
import { startFaultProxyFor } from './fault-proxy.ts';
import { type OwnPostgres, startOwnPostgres } from './own-postgres.ts';
import { withSql } from './read-connector.ts';
import { startTestRedis } from './redis.ts';

/** A connector one of whose dependencies can be made unavailable. */
export interface Outage {
  readonly campaign: Campaign;
  begin(): Promise<void>;
  end(): Promise<void>;
}

/** A dependency that does not respond, or rejects. */
export interface OutageKind {
  readonly name: string;
  /** Whether deliveries are accepted nevertheless. */
  readonly harmless?: boolean;
  start(): Promise<Outage>;
}

const POSTGRES_PORT = 5_432;
const API_CLIENTS = 100;
const PAUSE_MS = 50;
const DISK_MIB = 64;
const MIB = 1024 * 1024;

/** More connections than any load uses, so that the sender itself never waits. */
const OPTIONS: CampaignOptions = { processes: 1, spares: 0, connections: 600 };

export const DEPENDENCY_OUTAGES: readonly OutageKind[] = [
  { name: 'Postgres is stopped (SIGSTOP)', start: stopPostgres },
  { name: 'packets to Postgres are dropped', start: dropPackets },
  { name: '100 API clients wait for a locked table', harmless: true, start: blockApiClients },
  { name: 'all tables are locked', start: lockTables },
  { name: 'the disk of Postgres is full', start: fillDisk },
  { name: 'Postgres is read-only', start: makeReadOnly },
  { name: 'Redis is stopped (SIGSTOP)', harmless: true, start: stopRedis },
];

async function stopPostgres(): Promise<Outage> {
  const server = await startServer();
  const campaign = await startCampaign({ ...OPTIONS, createDatabase: () => createDatabase(server) });
  return { campaign, begin: () => server.signal('SIGSTOP'), end: () => server.signal('SIGCONT') };
}

async function dropPackets(): Promise<Outage> {
  const started = Promise.withResolvers<Awaited<ReturnType<typeof startFaultProxyFor>>>();
  const campaign = await startCampaign({
    ...OPTIONS,
    async routeDatabase(url) {
      const proxy = await startFaultProxyFor(url, POSTGRES_PORT);
      onTestFinished(() => proxy.close());
      started.resolve(proxy);
      return proxy.route(url);
    },
  });
  const proxy = await started.promise;
  return { campaign, begin: async () => proxy.freeze(), end: async () => proxy.thaw() };
}

async function blockApiClients(): Promise<Outage> {
  const campaign = await startCampaign(OPTIONS);
  const leave = new AbortController();
  const lock = createLock(campaign, ['outbound']);
  const headers = { authorization: `Bearer ${campaign.token}` };
  async function ask(): Promise<void> {
    while (!leave.signal.aborted) {
      const answer = await fetch(`${campaign.url}/v1/outbound`, { headers }).catch(() => undefined);
      await answer?.arrayBuffer().catch(() => undefined);
      await systemClock.sleep(PAUSE_MS);
    }
  }
  let clients: Promise<void>[] = [];
  return {
    campaign,
    async begin() {
      await lock.take();
      clients = Array.from({ length: API_CLIENTS }, ask);
    },
    async end() {
      leave.abort();
      await lock.release();
      await Promise.all(clients);
    },
  };
}

async function lockTables(): Promise<Outage> {
  const campaign = await startCampaign(OPTIONS);
  const lock = createLock(campaign, 'all');
  return { campaign, begin: lock.take, end: lock.release };
}

/** Locks tables of the connector so that no other session can read them. */
function createLock({ databaseUrl }: Campaign, tables: readonly string[] | 'all') {
  const held = Promise.withResolvers<void>();
  let over: Promise<unknown> = Promise.resolve();
  return {
    async take(): Promise<void> {
      const taken = Promise.withResolvers<void>();
      const hold = (sql: postgres.Sql): Promise<void> =>
        sql.begin(async (tx) => {
          const rows = await tx<{ name: string }[]>`
            select quote_ident(tablename) as name from pg_tables where schemaname = 'connector' order by 1`;
          const names = rows
            .map(({ name }) => name)
            .filter((name) => tables === 'all' || tables.includes(name));
          await tx.unsafe(`lock table ${names.map((name) => `connector.${name}`).join(', ')}`);
          taken.resolve();
          await held.promise;
        });
      // A statement that reads several tables in another order is a deadlock, which Postgres ends by refusing one side.
      const retry = (sql: postgres.Sql): Promise<void> =>
        hold(sql).catch((err) => (err.code === '40P01' ? retry(sql) : Promise.reject(err)));
      over = withSql(databaseUrl, retry);
      over.catch(taken.reject);
      await taken.promise;
    },
    async release(): Promise<void> {
      held.resolve();
      await over;
    },
  };
}

/** Uses a small disk if this process may mount one; otherwise a trigger rejects every write as a full disk does. */
async function fillDisk(): Promise<Outage> {
  const server = await startServer();
  const disk = join(server.location, 'disk');
  await mkdir(disk);
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MIB}m`, 'tmpfs', disk]).status === 0;
  if (mounted) onTestFinished(() => void spawnSync('umount', ['-l', disk]));
  const space = join(disk, 'space');
  await mkdir(space);
  const { uid, gid } = await stat(join(server.location, 'cluster'));
  await chown(space, uid, gid);
  await withSql(server.url, (sql) => sql.unsafe(`create tablespace small location '${space}'`));
  const campaign = await startCampaign({
    ...OPTIONS,
    createDatabase: () => createDatabase(server, 'tablespace small'),
  });
  const filler = join(disk, 'filler');
  if (mounted) return { campaign, begin: () => fill(filler), end: () => rm(filler) };
  const run = (text: string) => withSql(campaign.databaseUrl, (sql) => sql.unsafe(text));
  return {
    campaign,
    async begin() {
      await run(`
        create function public.refuse() returns trigger language plpgsql as
          $$ begin raise 'could not extend file' using errcode = 'disk_full'; end $$;
        create trigger refuse before insert on connector.inbox execute function public.refuse()`);
    },
    end: async () => void (await run('drop function public.refuse cascade')),
  };
}

async function fill(path: string): Promise<void> {
  for (let size = MIB; size >= 1; size /= 2) {
    const chunk = Buffer.alloc(Math.ceil(size));
    while (
      await writeFile(path, chunk, { flag: 'a' }).then(
        () => true,
        () => false,
      )
    );
  }
}

async function makeReadOnly(): Promise<Outage> {
  const campaign = await startCampaign(OPTIONS);
  const name = new URL(campaign.databaseUrl).pathname.slice(1);
  const set = (value: 'on' | 'off') => () =>
    asAdmin(async (sql) => {
      await sql.unsafe(`alter database ${name} set default_transaction_read_only = ${value}`);
      // Existing sessions keep the setting that they began with.
      if (value === 'on')
        await sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`;
    });
  return { campaign, begin: set('on'), end: set('off') };
}

async function stopRedis(): Promise<Outage> {
  const redis = await startTestRedis(['--maxmemory-policy', 'noeviction']);
  onTestFinished(() => redis.stop());
  const campaign = await startCampaign({ ...OPTIONS, env: { REDIS_URL: redis.url } });
  return {
    campaign,
    begin: async () => void redis.process.kill('SIGSTOP'),
    end: async () => void redis.process.kill('SIGCONT'),
  };
}

async function startServer(): Promise<OwnPostgres> {
  const server = await startOwnPostgres();
  onTestFinished(() => server.stop());
  return server;
}

async function createDatabase(
  server: OwnPostgres,
  options = '',
): Promise<{ url: string; drop(): Promise<void> }> {
  await withSql(server.url, (sql) => sql.unsafe(`create database silent ${options}`));
  // It is removed with its server.
  return { url: withDatabase(server.url, 'silent'), drop: async () => undefined };
}
