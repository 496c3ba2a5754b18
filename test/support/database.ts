import postgres from 'postgres';
import { inject } from 'vitest';
import type { Clock } from '../../src/runtime/clock/clock.ts';
import { createOwnDatabase, type OwnDatabase } from '../../src/testing/own-database.ts';

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
