import type { Queryable } from './database.ts';
import { type AppliedMigration, compareMigrations, type MigrationState, readMigrations } from './migrate.ts';

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
