import { is } from 'drizzle-orm';
import { bigint, customType, type PgColumn, PgEnumColumn, pgSchema } from 'drizzle-orm/pg-core';

/** The Postgres schema that holds everything of the connector. */
export const connectorSchema = pgSchema('connector');

/** A time in epoch milliseconds. Never made by the database: every time comes from a clock or a payload. */
export const epochMs = (name: string) => bigint(name, { mode: 'number' });

/** Bytes: a `Buffer` in a row, any `Uint8Array` as a parameter. */
export const bytea = customType<{ data: Uint8Array }>({ dataType: () => 'bytea' });

/** The type of a column as SQL, with the schema of an enum. */
export function sqlType(column: PgColumn): string {
  return is(column, PgEnumColumn) ? `${column.enum.schema}.${column.enum.enumName}` : column.getSQLType();
}

/** For SQL as text: the columns of the row `alias`, each under its key. */
export function selectList(columns: Readonly<Record<string, PgColumn>>, alias: string): string {
  return Object.entries(columns)
    .map(([key, { name }]) => `${alias}.${name} AS "${key}"`)
    .join(', ');
}

/** For SQL as text: the names of columns, each of the row `alias` if one is given. */
export function columnNames(columns: readonly { readonly name: string }[], alias?: string): string {
  return columns.map(({ name }) => (alias === undefined ? name : `${alias}.${name}`)).join(', ');
}
