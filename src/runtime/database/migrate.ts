import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator';
import type { Clock } from '../clock/clock.ts';
import type { Logger } from '../logger/logger.ts';
import type { Queryable } from './database.ts';
import { QueryDeadlineExceeded, QueryFailed, sqlState } from './errors.ts';
import { Session } from './session.ts';
import { runTransaction, type TransactionScope } from './transaction.ts';

export interface MigrationOptions {
  readonly url: string;
  /** A folder written by drizzle-kit: `*.sql` and `meta/_journal.json`. */
  readonly folder: string;
  /**
   * The Postgres schema that the migrations belong to; created if missing. It also contains the table of
   * applied migrations.
   */
  readonly schema: string;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** A migration could not be applied, or must not be. All of its changes were rolled back. */
export class MigrationFailed extends Error {
  override readonly name = 'MigrationFailed';
}

const DEADLINE_MS = 10 * 60_000;
const CONNECT_DEADLINE_MS = 10_000;
/**
 * Everything else waits behind a request for a table, such as a delivery. So it is given up soon and repeated: slow
 * readers, such as a backup, go first.
 */
const LOCK_WAIT_MS = 200;
const LOCK_PAUSE_MS = 1_000;
const LOCK_NOT_AVAILABLE = '55P03';
/** First half of the advisory lock's key; the second half is derived from the schema. */
const LOCK_SPACE = 7_204_115;
const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,62}$/;

/** A migration as the database remembers it. */
interface AppliedMigration {
  readonly created_at: number;
  readonly hash: string;
}

/**
 * Migrates one Postgres schema to the newest migration of `folder`, in one transaction under an advisory
 * lock, so that any number of replicas may start at once. Returns how many migrations this call applied.
 * Throws `MigrationFailed` if one fails, if the database has another one, or if an applied migration was changed
 * afterwards; throws `DatabaseUnavailable` if the database cannot be used.
 */
export async function migrateDatabase(options: MigrationOptions): Promise<{ applied: number }> {
  const { schema, clock, logger } = options;
  const migrations = readMigrations(options.folder, schema);
  for (const begun = clock.elapsed(); ; await clock.sleep(LOCK_PAUSE_MS)) {
    try {
      return await migrateOnce(options, migrations);
    } catch (err) {
      const waitedMs = clock.elapsed() - begun;
      if (sqlState(err) !== LOCK_NOT_AVAILABLE || waitedMs > DEADLINE_MS) throw err;
      if (waitedMs < LOCK_PAUSE_MS)
        logger.warn({ schema, err }, 'a migration waits for tables that others read, such as a backup');
    }
  }
}

async function migrateOnce(
  { url, schema, clock, logger }: MigrationOptions,
  migrations: readonly MigrationMeta[],
): Promise<{ applied: number }> {
  const session = await Session.open({
    url,
    name: `migrate-${schema}`,
    deadlineMs: DEADLINE_MS,
    connectDeadlineMs: CONNECT_DEADLINE_MS,
    prepare: false,
    clock,
  });
  const stop = clock.after(DEADLINE_MS, () =>
    session.end(new QueryDeadlineExceeded(DEADLINE_MS, 'migrating', false)),
  );
  try {
    const applied = await runTransaction(session, DEADLINE_MS, (scope) =>
      applyAll(scope, migrations, schema),
    );
    if (applied > 0) logger.info({ schema, applied }, 'database schema migrated');
    return { applied };
  } finally {
    stop();
    await session.close();
  }
}

/** The migrations of a folder, in order. Throws `MigrationFailed` if there are none. */
function readMigrations(folder: string, schema: string): MigrationMeta[] {
  if (!SCHEMA_NAME.test(schema))
    throw new MigrationFailed('the schema name must be a plain lower-case identifier');
  if (!existsSync(join(folder, 'meta', '_journal.json'))) {
    throw new MigrationFailed(`there are no migrations in ${folder}; generate them with npm run migrations`);
  }
  return readMigrationFiles({ migrationsFolder: folder });
}

async function applyAll(
  scope: TransactionScope,
  migrations: readonly MigrationMeta[],
  schema: string,
): Promise<number> {
  await scope.run(
    'select pg_advisory_xact_lock($1::int, hashtext($2::text))',
    [LOCK_SPACE, schema],
    'arrays',
  );
  // `if not exists` requires the right to create schemas also for one that exists.
  await scope.script(
    `do $$ begin if to_regnamespace('${schema}') is null then create schema "${schema}"; end if; end $$;
     create table if not exists "${schema}".applied_migrations (created_at bigint primary key, hash text not null)`,
  );
  const rows = await scope.run(
    `select created_at, hash from "${schema}".applied_migrations order by 1`,
    [],
    'objects',
  );
  const applied = rows as AppliedMigration[];
  const obstacle = findObstacle(compareMigrations(migrations, applied), schema);
  if (obstacle !== undefined) throw new MigrationFailed(`${obstacle.says} ${obstacle.advice}`);
  const done = new Set(applied.map(({ created_at }) => created_at));
  const pending = migrations.filter(({ folderMillis }) => !done.has(folderMillis));
  if (pending.length > 0) await scope.script(`set local lock_timeout = ${LOCK_WAIT_MS}`);
  for (const migration of pending) await applyOne(scope, migration, schema);
  return pending.length;
}

/** What a schema contains, compared with the migrations of this version. */
export type MigrationState =
  | { readonly kind: 'current'; readonly applied: number }
  /** No migration was ever applied. */
  | { readonly kind: 'empty' }
  | { readonly kind: 'pending'; readonly applied: number; readonly pending: number }
  /** Contains migrations that this version does not know. */
  | { readonly kind: 'newer' }
  /** A migration was changed after it was applied. */
  | { readonly kind: 'changed' };

/** Compares the migrations of this version, of which there is one at least, with those that were applied. */
function compareMigrations(
  migrations: readonly MigrationMeta[],
  applied: readonly AppliedMigration[],
): MigrationState {
  if (applied.length === 0) return { kind: 'empty' };
  const known = new Map(migrations.map(({ folderMillis, hash }) => [folderMillis, hash]));
  if (applied.some(({ created_at }) => !known.has(created_at))) return { kind: 'newer' };
  if (applied.some(({ created_at, hash }) => known.get(created_at) !== hash)) return { kind: 'changed' };
  const pending = migrations.length - applied.length;
  return pending === 0
    ? { kind: 'current', applied: applied.length }
    : { kind: 'pending', applied: applied.length, pending };
}

/**
 * Compares the migrations in `folder` with those applied to `schema`, and changes nothing. Throws what
 * `query` throws.
 */
export async function inspectMigrations(
  db: Queryable,
  options: { readonly folder: string; readonly schema: string },
): Promise<MigrationState> {
  const { folder, schema } = options;
  const migrations = readMigrations(folder, schema);
  const [row] = await db.query<{ present: boolean }>('select to_regclass($1) is not null as present', [
    `"${schema}".applied_migrations`,
  ]);
  if (row?.present !== true) return { kind: 'empty' };
  return compareMigrations(
    migrations,
    await db.query<AppliedMigration>(`select created_at, hash from "${schema}".applied_migrations`),
  );
}

/** Why a schema in this state must not be migrated, and what to do; undefined if it may be. */
export function findObstacle(
  { kind }: MigrationState,
  schema: string,
): { readonly says: string; readonly advice: string } | undefined {
  if (kind === 'newer')
    return {
      says: `The schema "${schema}" is of a newer version: it contains a migration that this one does not know.`,
      advice:
        'Start the newer version again, restore the backup made before the upgrade, or use an empty database.',
    };
  if (kind === 'changed')
    return {
      says: `A migration that was applied to the schema "${schema}" differs from the one in this version.`,
      advice: 'Reinstall the released package of this version: one of its migrations was changed.',
    };
  return undefined;
}

async function applyOne(scope: TransactionScope, migration: MigrationMeta, schema: string): Promise<void> {
  const { hash, folderMillis } = migration;
  for (const statement of migration.sql) {
    try {
      // The generated migrations create their schema, which already exists: it contains the table above.
      await scope.script(statement.replace(/^\s*create schema [^;]*/i, ''));
    } catch (error) {
      const why = error instanceof QueryFailed ? `: ${error.message}` : '';
      throw new MigrationFailed(`a migration of the schema "${schema}" failed and was rolled back${why}`, {
        cause: error,
      });
    }
  }
  await scope.run(
    `insert into "${schema}".applied_migrations (created_at, hash) values ($1, $2)`,
    [folderMillis, hash],
    'arrays',
  );
}
