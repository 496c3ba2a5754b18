import type { Queryable } from './database.ts';
import { type AppliedMigration, readMigrations } from './migrate.ts';

/** The state of the tables of a schema relative to the migrations of this version. */
export type MigrationState =
  | { readonly kind: 'current'; readonly applied: number }
  /** No migration was ever applied. */
  | { readonly kind: 'empty' }
  | { readonly kind: 'pending'; readonly applied: number; readonly pending: number }
  /** The database contains migrations that this version does not know. */
  | { readonly kind: 'newer'; readonly unknown: number }
  /** A migration was changed after it was applied. */
  | { readonly kind: 'changed' };

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
  const applied = await db.query<AppliedMigration>(
    `select created_at, hash from "${schema}".applied_migrations order by 1`,
  );
  const known = new Map(migrations.map(({ folderMillis, hash }) => [folderMillis, hash]));
  const unknown = applied.filter(({ created_at }) => !known.has(created_at)).length;
  if (unknown > 0) return { kind: 'newer', unknown };
  if (applied.some(({ created_at, hash }) => known.get(created_at) !== hash)) return { kind: 'changed' };
  const pending = migrations.length - applied.length;
  if (applied.length === 0) return { kind: 'empty' };
  return pending === 0
    ? { kind: 'current', applied: applied.length }
    : { kind: 'pending', applied: applied.length, pending };
}
