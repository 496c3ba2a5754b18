import { describe, expect, it } from 'vitest';
import * as connectorTables from '../../src/connector/db/schema.ts';
import * as platformTables from '../../src/platform/db/schema.ts';
import { readSources, type SourceFile } from './source-files.ts';
import { splitSource } from './source-parts.ts';
import { GUESTS, OWNERS, RAW_SQL, WRITE_NAMED_TABLES } from './table-owners.ts';
import { findWrites, namesOfTables, runsRawSql } from './table-writes.ts';

const NAMES = { connector: namesOfTables(connectorTables), other: namesOfTables(platformTables) };
const namesFor = (path: string) => (path.startsWith('src/connector/') ? NAMES.connector : NAMES.other);
const files = readSources('src');
const writes = files.flatMap((file) => findWrites(file, namesFor(file.path)));
const isNamedLater = (table: string): boolean => table.endsWith('.*');
const raw = files.filter(runsRawSql).map(({ path }) => path);

describe('each table', () => {
  it('is written only by its owner (see table-owners.ts)', () => {
    const others = writes.filter(
      ({ path, table }) =>
        !isNamedLater(table) && !path.startsWith(OWNERS[table] ?? 'nowhere') && GUESTS[path]?.[0] !== table,
    );
    expect(others.map(({ path, line, table }) => `${path}:${line} writes ${table}`)).toEqual([]);
  });

  it('is written by each guest that the list names', () => {
    const idle = Object.entries(GUESTS).filter(
      ([path, [table]]) => !writes.some((write) => write.path === path && write.table === table),
    );
    expect(idle).toEqual([]);
  });

  it('has an owner that writes it', () => {
    const tables = [...NAMES.connector.values(), ...NAMES.other.values()];
    expect(tables.filter((table) => OWNERS[table] === undefined)).toEqual([]);
    const written = (table: string, folder: string) =>
      writes.some((write) => write.table === table && write.path.startsWith(folder));
    const idle = Object.entries(OWNERS).filter(([table, folder]) => !written(table, folder));
    expect(idle).toEqual([]);
  });

  it('is named where it is written, except in the files that list their tables', () => {
    const found = new Set(writes.filter(({ table }) => isNamedLater(table)).map(({ path }) => path));
    expect([...found].sort()).toEqual(Object.keys(WRITE_NAMED_TABLES).sort());
  });

  it('is imported under its own name, by which its writes are found', () => {
    const renamed = /\bimport\s*\{[^}]*\b(\w+)\s+as\s+\w+[^}]*\}\s*from/g;
    const found = files.flatMap(({ path, code }) =>
      [...code.matchAll(renamed)]
        .filter(([, name = '']) => namesFor(path).has(name))
        .map(([, name]) => `${path} ${name}`),
    );
    expect(found).toEqual([]);
  });
});

describe('SQL as text', () => {
  it('is run only by the files in table-owners.ts (use `orm(db)`)', () => {
    expect([...raw].sort()).toEqual(Object.keys(RAW_SQL).sort());
  });
});

describe('the rule about tables', () => {
  const parse = (source: string): SourceFile => ({ path: 'src/x/y.ts', source, ...splitSource(source) });
  const tablesIn = (source: string) =>
    findWrites(parse(source), NAMES.connector).map(({ table, line }) => `${line} ${table}`);

  it.each([
    ["query('insert into connector.accounts (id) values ($1)')", ['1 connector.accounts']],
    ['`WITH a AS (\n  DELETE\n FROM connector.gaps g) SELECT`', ['2 connector.gaps']],
    ['`update only connector.leases set owner = $1`', ['1 connector.leases']],
    [`\`UPDATE "connector"."leases" SET\``, ['1 connector.leases']],
    [`\`delete from connector.\${table} where\``, ['1 connector.*']],
    [`sql\`update \${connections} set label = \${label}\``, ['1 connector.connections']],
    [`sql\`insert into \${tables.pollStates} (a)\``, ['1 connector.poll_states']],
    ['orm(db).insert(accounts).values(row)', ['1 connector.accounts']],
    ['orm(db)\n  .update(tables.pollStates)\n  .set({})', ['2 connector.poll_states']],
    ['await orm(tx).delete(outbound).where(x)', ['1 connector.outbound']],
    ['await orm(change.tx)\n  .update(table)\n  .set(x)', ['2 connector.*']],
  ])('finds a write in %s', (source, expected) => {
    expect(tablesIn(source)).toEqual(expected);
  });

  it.each([
    'createHash("sha256").update(bytes)',
    'known.delete(key)',
    'orm(db).select().from(accounts)',
    `sql\`select 1 from \${accounts} for update\``,
    '// insert into connector.accounts',
    "query('select 1 from connector.accounts for update of a')",
    "say('nothing to update')",
  ])('finds no write in %s', (source) => {
    expect(tablesIn(source)).toEqual([]);
  });

  it.each(['db.query(TEXT)', 'tx.query<{ a: string }>(TEXT)', 'await orm(db).execute(sql`select 1`)'])(
    'finds SQL as text in %s',
    (source) => {
      expect(runsRawSql(parse(source))).toBe(true);
    },
  );

  it.each(['request.query.limit', 'orm(db).select()', '// db.query(TEXT)'])(
    'finds no SQL as text in %s',
    (source) => {
      expect(runsRawSql(parse(source))).toBe(false);
    },
  );
});
