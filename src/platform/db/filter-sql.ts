import { and, ilike, or, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import type { Filter, FilterTerm } from '../../contract/sandbox/filter.ts';

/** Several values of an entry: rows of a `from` clause, of which the column `one.value` is text. */
interface SeveralValues {
  readonly each: SQL;
}

/** Where the values of a filter are stored. */
export interface FilterColumns<Key extends string> {
  /** Text columns or expressions by key. */
  readonly keys: Readonly<Record<Key, SQLWrapper | SeveralValues>>;
  /** Columns that a text is searched in. */
  readonly texts: readonly SQLWrapper[];
}

function isHit<Key extends string>(
  { key, value, prefix }: FilterTerm<Key>,
  { keys, texts }: FilterColumns<Key>,
): SQL | undefined {
  if (key === null) {
    const pattern = `%${value.replace(/[\\%_]/g, '\\$&')}%`;
    return or(...texts.map((text) => ilike(text as SQL, pattern)));
  }
  const fits = (one: SQLWrapper): SQL =>
    prefix ? sql`starts_with(${one}, ${value})` : sql`${one} = ${value}`;
  const values = keys[key];
  return 'each' in values
    ? sql`exists (select from ${values.each} where ${fits(sql`one.value`)})`
    : fits(values);
}

/** The condition of a filter, true for the same entries as `matchesFilter`; undefined if it matches everything. */
export function filterSql<Key extends string>(
  filter: Filter<Key>,
  columns: FilterColumns<Key>,
): SQL | undefined {
  const toSql = (term: FilterTerm<Key>): SQL | undefined => {
    const hit = isHit(term, columns);
    return term.negated ? sql`(${hit}) is not true` : hit;
  };
  return and(...filter.map((clause) => or(...clause.map(toSql))));
}
