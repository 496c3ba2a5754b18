import { is } from 'drizzle-orm';
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core';
import type { SourceFile } from './source-files.ts';
import { lineAt } from './source-parts.ts';

/** A statement that inserts, updates or deletes rows of a table. */
export interface TableWrite {
  readonly path: string;
  readonly line: number;
  /** `schema.table`, or `schema.*` if the table is known only at run time. */
  readonly table: string;
}

/** The exported name of each table in code, and the table. */
export function namesOfTables(schema: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(schema).flatMap(([name, value]) => {
      if (!is(value, PgTable)) return [];
      const config = getTableConfig(value);
      return [[name, `${config.schema}.${config.name}`] as const];
    }),
  );
}

function schemaOf(names: ReadonlyMap<string, string>): string {
  const [first = ''] = names.values();
  return first.slice(0, first.indexOf('.'));
}

const VERB = String.raw`\b(?:insert\s+into|update|delete\s+from|merge\s+into)\s+(?:only\s+)?`;
/** `update connector.accounts`, and `update connector.${table}`, where the text ends behind the dot. */
const SQL_WRITE = new RegExp(String.raw`${VERB}"?(connector|platform)"?\s*\.\s*(?:"?(\w+)"?|$)`, 'gi');
/** `sql\`update ${accounts} …\``: the text ends after the verb, and the code continues with a table. */
const ENDS_WITH_VERB = new RegExp(`${VERB}$`, 'i');
const PLACEHOLDER = /^\$\{\s*(?:\w+\s*\.\s*)?(\w+)\s*\}/;
/** What certainly precedes a write; elsewhere `.delete(key)` may belong to a map. */
const ON_HANDLE = /\borm\([\w.#]+\)\s*$/;
/** `.update(accounts)`, `.delete(tables.accounts)`. */
const DRIZZLE_WRITE = /\.\s*(?:insert|update|delete)\s*\(\s*(?:\w+\s*\.\s*)?(\w+)\s*\)/g;

/**
 * Where a file writes tables. `names` are the drizzle tables that it may mean: see `namesOfTables`. Searches
 * strings for SQL and the code for drizzle, so a table must be
 * named where it is written: a renamed import is not found, and a table in a parameter is `schema.*`.
 */
export function findWrites(
  { path, source, code, texts }: SourceFile,
  names: ReadonlyMap<string, string>,
): TableWrite[] {
  const found: { readonly at: number; readonly table: string | undefined }[] = [];
  for (const { text, at } of texts) {
    for (const { index, 1: schema = '', 2: name = '*' } of text.matchAll(SQL_WRITE)) {
      found.push({ at: at + index, table: `${schema.toLowerCase()}.${name}` });
    }
    if (ENDS_WITH_VERB.test(text)) {
      const [, name = ''] = PLACEHOLDER.exec(code.slice(at + text.length)) ?? [];
      found.push({ at, table: names.get(name) });
    }
  }
  for (const { index, 1: name = '' } of code.matchAll(DRIZZLE_WRITE)) {
    const isNamedLater = ON_HANDLE.test(code.slice(Math.max(0, index - 80), index));
    found.push({ at: index, table: names.get(name) ?? (isNamedLater ? `${schemaOf(names)}.*` : undefined) });
  }
  return found.flatMap(({ at, table }) =>
    table === undefined ? [] : [{ path, line: lineAt(source, at), table }],
  );
}

const RAW_SQL = /\.\s*(?:query|execute)\s*(?:<(?:[^<>]|<[^<>]*>)*>)?\s*\(/;

/** Whether a file runs SQL as text, or as a template of drizzle that types no row. */
export function runsRawSql({ code }: SourceFile): boolean {
  return RAW_SQL.test(code);
}
