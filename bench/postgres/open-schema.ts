import { fileURLToPath } from 'node:url';
import { systemClock as clock } from '../../src/runtime/clock/system-clock.ts';
import { type Database, openDatabase } from '../../src/runtime/database/database.ts';
import { migrateDatabase } from '../../src/runtime/database/migrate.ts';
import { logger } from '../context.ts';

/** Makes the tables of one half in an empty database, and opens it. */
export async function openSchema(schema: 'connector' | 'platform', url: string): Promise<Database> {
  const folder = fileURLToPath(new URL(`../../drizzle/${schema}`, import.meta.url));
  await migrateDatabase({ url, folder, schema, logger, clock });
  return openDatabase({ url, name: `bench-${schema}`, clock, logger });
}
