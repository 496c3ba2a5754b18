import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator';
import type { Clock } from '../clock/clock.ts';
import type { Logger } from '../logger/logger.ts';
import { openDatabase, type Queryable } from './database.ts';

export interface MigrationOptions {
  readonly url: string;
  /** A folder that drizzle-kit wrote: `*.sql` and `meta/_journal.json`. */
  readonly folder: string;
  /** The Postgres schema the migrations belong to; made when missing. Also holds the table of applied ones. */
  readonly schema: string;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** A migration could not be applied, or must not be. Nothing of it was kept. */
export class MigrationFailed extends Error {
  override readonly name = 'MigrationFailed';
}

const DEADLINE_MS = 10 * 60_000;
/** First half of the advisory lock's key; the second is made from the schema. */
const LOCK_SPACE = 7_204_115;
const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,62}$/;

interface Applied {
  readonly created_at: number;
  readonly hash: string;
}

/**
 * Brings one Postgres schema to the newest migration of `folder`, in one transaction under an advisory lock,
 * so that any number of replicas may start at once. Returns how many migrations this call applied. Throws
 * `MigrationFailed` when one fails, when the database is newer than this code, or when an applied migration
 * was changed afterwards; throws as `query` does when the database cannot be reached.
 */
export async function migrateDatabase(options: MigrationOptions): Promise<{ applied: number }> {
  const { url, schema, clock, logger } = options;
  const migrations = readMigrations(options.folder, schema);
  const database = openDatabase({
    url,
    name: `migrate-${schema}`,
    poolSize: 1,
    prepare: false,
    clock,
    logger,
  });
  try {
    const applied = await database.transaction((tx) => applyAll(tx, migrations, schema), {
      deadlineMs: DEADLINE_MS,
    });
    if (applied > 0) logger.info({ schema, applied }, 'database schema migrated');
    return { applied };
  } finally {
    await database.close();
  }
}

function readMigrations(folder: string, schema: string): MigrationMeta[] {
  if (!SCHEMA_NAME.test(schema))
    throw new MigrationFailed('the schema name must be a plain lower-case identifier');
  if (!existsSync(join(folder, 'meta', '_journal.json'))) {
    throw new MigrationFailed(`there are no migrations in ${folder}; generate them with npm run migrations`);
  }
  return readMigrationFiles({ migrationsFolder: folder });
}

async function applyAll(
  tx: Queryable,
  migrations: readonly MigrationMeta[],
  schema: string,
): Promise<number> {
  await tx.query('select pg_advisory_xact_lock($1::int, hashtext($2::text))', [LOCK_SPACE, schema]);
  await tx.query(`create schema if not exists "${schema}"`);
  await tx.query(
    `create table if not exists "${schema}".applied_migrations (
       created_at bigint primary key, hash text not null
     )`,
  );
  const applied = await tx.query<Applied>(
    `select created_at, hash from "${schema}".applied_migrations order by 1`,
  );
  const pending = findPending(migrations, applied, schema);
  for (const migration of pending) await applyOne(tx, migration, schema);
  return pending.length;
}

function findPending(
  migrations: readonly MigrationMeta[],
  applied: readonly Applied[],
  schema: string,
): readonly MigrationMeta[] {
  const known = new Map(migrations.map((migration) => [migration.folderMillis, migration]));
  for (const { created_at, hash } of applied) {
    const migration = known.get(created_at);
    if (migration === undefined) {
      throw new MigrationFailed(
        `the schema "${schema}" holds a migration that this version does not know; ` +
          'the database is newer than the code: start a newer version, or restore an older database',
      );
    }
    if (migration.hash !== hash) {
      throw new MigrationFailed(
        `a migration already applied to the schema "${schema}" was changed afterwards; ` +
          'undo the change and write a new migration',
      );
    }
  }
  const done = new Set(applied.map(({ created_at }) => created_at));
  return migrations.filter(({ folderMillis }) => !done.has(folderMillis));
}

async function applyOne(tx: Queryable, migration: MigrationMeta, schema: string): Promise<void> {
  const { hash, folderMillis } = migration;
  for (const statement of migration.sql) {
    if (statement.trim() === '') continue;
    try {
      await tx.query(statement);
    } catch (error) {
      throw new MigrationFailed(`a migration of the schema "${schema}" failed; nothing was changed`, {
        cause: error,
      });
    }
  }
  await tx.query(`insert into "${schema}".applied_migrations (created_at, hash) values ($1, $2)`, [
    folderMillis,
    hash,
  ]);
}
