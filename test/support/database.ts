import postgres from 'postgres';
import { inject } from 'vitest';
import type { Clock } from '../../src/runtime/clock/clock.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import {
  type Database,
  type DatabaseOptions,
  openDatabase,
  type Queryable,
} from '../../src/runtime/database/database.ts';
import { createLogger } from '../../src/runtime/logger/logger.ts';
import { createOwnDatabase, type OwnDatabase } from '../../src/testing/own-database.ts';

export const silentLogger = createLogger({ level: 'silent', name: 'test' });

/** The database of one test. */
export type TestDatabase = OwnDatabase;

/** Runs `work` on one connection to the shared server. */
export async function asAdmin<T>(work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(inject('databaseUrl'), { max: 1, onnotice: () => undefined });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Creates an empty database, or one with the requested schemas (copied from a template), for users of this clock. */
export function createTestDatabase(
  options: { connector?: boolean; platform?: boolean; clock?: Clock } = {},
): Promise<TestDatabase> {
  const schemas = (['connector', 'platform'] as const).filter((schema) => options[schema] === true);
  return createOwnDatabase(inject('databaseUrl'), schemas, options.clock);
}

/** A pool of connections to a database. */
export function openPool(url: string, options: Partial<DatabaseOptions> = {}): Database {
  return openDatabase({ url, name: 'test', clock: systemClock, logger: silentLogger, ...options });
}

/** How many sessions of this database wait for a lock. */
export async function countWaiting(database: Queryable): Promise<number> {
  const rows = await database.query(
    `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  );
  return rows.length;
}

/** A database of one test with a pool of connections to it. */
export interface OpenedDatabase {
  readonly url: string;
  readonly database: Database;
  close(): Promise<void>;
}

/** Creates a database, as `createTestDatabase` does, and opens a pool. */
export async function openTestDatabase(
  schemas: { connector?: boolean; platform?: boolean } = {},
  poolSize = 4,
): Promise<OpenedDatabase> {
  const { url, drop } = await createTestDatabase(schemas);
  const database = openPool(url, { poolSize });
  return {
    url,
    database,
    async close() {
      await database.close();
      await drop();
    },
  };
}
