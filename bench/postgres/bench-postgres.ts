import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import type { Clock } from '../../src/runtime/clock/clock.ts';
import { startEmbeddedPostgres } from '../../src/runtime/database/embedded.ts';
import type { Logger } from '../../src/runtime/logger/logger.ts';

/** The one Postgres that everything in a run shares. */
export interface BenchPostgres {
  /** Version and the settings that decide what a commit costs. */
  readonly settings: PostgresSettings;
  /** Makes an empty database and returns its URL. */
  createDatabase(name: string): Promise<string>;
  /** Writes out what earlier rounds left in memory, so that no round pays for another. */
  checkpoint(): Promise<void>;
  /** Drops the databases and stops the server, if it was started here. */
  close(): Promise<void>;
}

export interface PostgresSettings {
  readonly version: string;
  readonly fsync: string;
  readonly synchronousCommit: string;
  readonly embedded: boolean;
}

/** On the project's disk: a system's temporary folder may lie in memory, where fsync costs nothing. */
const DATA_FOLDER = fileURLToPath(new URL('../../.data/', import.meta.url));

interface Options {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Uses `TEST_DATABASE_URL` if it is set; otherwise starts a server in a temporary folder. */
export async function openBenchPostgres(options: Options): Promise<BenchPostgres> {
  const given = process.env['TEST_DATABASE_URL'];
  const server =
    given === undefined ? await startTemporary(options) : { url: given, stop: async () => undefined };
  const sql = postgres(server.url, { max: 1, onnotice: () => undefined });
  const made: string[] = [];
  try {
    return {
      settings: await readSettings(sql, given === undefined),
      async createDatabase(name) {
        const database = `bench_${name}_${options.clock.now().toString(36)}_${process.pid}`;
        await sql`CREATE DATABASE ${sql(database)}`;
        made.push(database);
        const url = new URL(server.url);
        url.pathname = `/${database}`;
        return url.href;
      },
      async checkpoint() {
        await sql`CHECKPOINT`;
      },
      async close() {
        for (const database of made) await sql`DROP DATABASE IF EXISTS ${sql(database)} WITH (FORCE)`;
        await sql.end({ timeout: 5 });
        await server.stop();
      },
    };
  } catch (error) {
    await sql.end({ timeout: 0 });
    await server.stop();
    throw error;
  }
}

async function startTemporary(options: Options): Promise<{ url: string; stop(): Promise<void> }> {
  await mkdir(DATA_FOLDER, { recursive: true });
  const dataDir = await mkdtemp(`${DATA_FOLDER}bench-`);
  const remove = (path: string): Promise<void> => rm(path, { recursive: true, force: true });
  try {
    const server = await startEmbeddedPostgres({ ...options, dataDir });
    return {
      url: server.url,
      async stop() {
        await server.stop();
        await remove(server.location);
        await remove(dataDir);
      },
    };
  } catch (error) {
    await remove(dataDir);
    throw error;
  }
}

async function readSettings(sql: postgres.Sql, embedded: boolean): Promise<PostgresSettings> {
  const [row] = await sql<Omit<PostgresSettings, 'embedded'>[]>`
    SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync,
           current_setting('synchronous_commit') AS "synchronousCommit"`;
  if (row === undefined) throw new Error('Postgres does not tell its settings');
  return { ...row, embedded };
}
