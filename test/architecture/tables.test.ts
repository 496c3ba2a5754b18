import { describe, expect, it } from 'vitest';
import * as connectorTables from '../../src/connector/db/schema.ts';
import * as platformTables from '../../src/platform/db/schema.ts';
import { readSources } from './source-files.ts';
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
