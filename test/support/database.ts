import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import postgres from 'postgres';
import { inject } from 'vitest';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { migrateDatabase } from '../../src/runtime/database/migrate.ts';
import { createLogger } from '../../src/runtime/logger/logger.ts';

/** A database of one test's own. */
export interface TestDatabase {
  readonly url: string;
  /** Removes it, whoever is still connected. */
  drop(): Promise<void>;
}

type Schema = 'connector' | 'platform';

const MIGRATIONS = join(import.meta.dirname, '../../drizzle');
/** Advisory lock under which a template is made. */
const TEMPLATE_LOCK = 418_276_001;

/** The same URL for another database of the server. */
export function withDatabase(url: string, database: string): string {
  const other = new URL(url);
  other.pathname = `/${database}`;
  return other.toString();
}

/** Runs `work` on one connection to the shared server. */
export async function asAdmin<T>(work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(inject('databaseUrl'), { max: 1, onnotice: () => undefined });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Makes an empty database, or one with the schemas asked for migrated into it (copied from a template). */
export async function createTestDatabase(
  options: { connector?: boolean; platform?: boolean } = {},
): Promise<TestDatabase> {
  const schemas = (['connector', 'platform'] as const).filter((schema) => options[schema] === true);
  const name = `test_${randomBytes(8).toString('hex')}`;
  await asAdmin(async (sql) => {
    const template = schemas.length === 0 ? 'template0' : await ensureTemplate(sql, schemas);
    const [server] = await sql<{ fsync: string }[]>`show fsync`;
    // Where nothing waits for a disk, copying the files takes a third of writing them through the log.
    const strategy = server?.fsync === 'off' ? 'file_copy' : 'wal_log';
    await sql.unsafe(`create database ${name} template ${template} strategy ${strategy}`);
  });
  return {
    url: withDatabase(inject('databaseUrl'), name),
    drop: () =>
      asAdmin(async (sql) => void (await sql.unsafe(`drop database if exists ${name} with (force)`))),
  };
}

/** The name carries a hash of the migrations: a changed migration makes another template. */
async function ensureTemplate(sql: postgres.Sql, schemas: readonly Schema[]): Promise<string> {
  const name = `template_${schemas.join('_')}_${hashMigrations(schemas)}`;
  if (await exists(sql, name)) return name;
  await sql`select pg_advisory_lock(${TEMPLATE_LOCK})`;
  try {
    if (await exists(sql, name)) return name;
    const draft = `draft_${randomBytes(8).toString('hex')}`;
    await sql.unsafe(`create database ${draft} template template0`);
    const url = withDatabase(inject('databaseUrl'), draft);
    const logger = createLogger({ level: 'silent', name: 'test' });
    for (const schema of schemas) {
      await migrateDatabase({ url, schema, folder: join(MIGRATIONS, schema), logger, clock: systemClock });
    }
    await sql.unsafe(`alter database ${draft} rename to ${name}`);
    return name;
  } finally {
    await sql`select pg_advisory_unlock(${TEMPLATE_LOCK})`;
  }
}

async function exists(sql: postgres.Sql, name: string): Promise<boolean> {
  const rows = await sql`select 1 from pg_database where datname = ${name}`;
  return rows.length > 0;
}

function hashMigrations(schemas: readonly Schema[]): string {
  const hash = createHash('sha256');
  for (const schema of schemas) {
    const folder = join(MIGRATIONS, schema);
    for (const file of readdirSync(folder).sort()) {
      if (file.endsWith('.sql')) hash.update(file).update(readFileSync(join(folder, file)));
    }
  }
  return hash.digest('hex').slice(0, 12);
}
