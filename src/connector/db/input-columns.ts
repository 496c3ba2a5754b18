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

/* The parameters of statements that take any number of rows: see `merge-statement.ts` and `connection-listing.ts`. */

/** A column of the rows that a statement is given: one array, an element for each row. */
export interface InputColumn<Row> {
  readonly name: string;
  /** The cast of its array. */
  readonly cast: string;
  /** It may be NULL in every row: then it is sent without elements, which costs nothing, and `unnest` fills it up. */
  readonly isNullable: boolean;
  readonly value: (row: Row) => unknown;
}

/** What a column takes. */
export type ValueOf<Column extends PgColumn> =
  | Column['_']['data']
  | (Column['_']['notNull'] extends true ? never : null);

/** An input for a column of a table, which gives its name and type. */
export function column<Row, Column extends PgColumn>(
  of: Column,
  value: (row: Row) => ValueOf<Column>,
): InputColumn<Row> {
  // The driver knows no array of an enum.
  const cast = is(of, PgEnumColumn) ? `text[]::${sqlType(of)}[]` : `${sqlType(of)}[]`;
  return { name: of.name, cast, isNullable: !of.notNull, value };
}

/** A column of no table, or of one that the statement computes. */
export function other<Row>(
  name: string,
  type: string,
  value: (row: Row) => unknown,
  isNullable = false,
): InputColumn<Row> {
  return { name, cast: `${type}[]`, isNullable, value };
}

/** Numbers parameters where the text takes them, and remembers how each is read from the input. */
export class Parameters<Input> {
  readonly #reads: ((input: Input) => unknown)[] = [];

  take(cast: string, read: (input: Input) => unknown): string {
    this.#reads.push(read);
    return `$${this.#reads.length}::${cast}`;
  }

  /** An array for each column, for `unnest`. */
  arrays<Row>(columns: readonly InputColumn<Row>[], rows: (input: Input) => readonly Row[]): string {
    return columns
      .map(({ cast, isNullable, value }) =>
        this.take(cast, (input) => {
          const values = rows(input).map(value);
          return isNullable && values.every((each) => each === null) ? [] : values;
        }),
      )
      .join(', ');
  }

  get count(): number {
    return this.#reads.length;
  }

  valuesOf(input: Input): unknown[] {
    return this.#reads.map((read) => read(input));
  }
}
