import { is } from 'drizzle-orm';
import { type PgColumn, PgEnumColumn } from 'drizzle-orm/pg-core';

/* Columns in statements that are SQL as text. */

/** The type of a column, with the schema of an enum. */
export function sqlType(column: PgColumn): string {
  return is(column, PgEnumColumn) ? `${column.enum.schema}.${column.enum.enumName}` : column.getSQLType();
}

/** The columns of the row `alias`, each named by its key. */
export function selectList(columns: Readonly<Record<string, PgColumn>>, alias: string): string {
  return Object.entries(columns)
    .map(([key, { name }]) => `${alias}.${name} AS "${key}"`)
    .join(', ');
}

/** The names of columns, each of the row `alias` if one is given. */
export function columnNames(columns: readonly { readonly name: string }[], alias?: string): string {
  return columns.map(({ name }) => (alias === undefined ? name : `${alias}.${name}`)).join(', ');
}
