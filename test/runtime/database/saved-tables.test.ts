import { beforeAll, beforeEach, expect, it } from 'vitest';
import { emptyTables, type SavedTables, saveTables } from '../../../src/runtime/database/saved-tables.ts';
import { createTestDatabase, openPool } from '../../support/database.ts';
import { ofFile } from '../../support/of-file.ts';

const test = ofFile(createTestDatabase, (made) => made.drop());
const database = ofFile(async () => openPool(test.url, { poolSize: 2 }));
let saved: SavedTables;

const run = (text: string) => database.query(text);
const look = async () => ({
  parents: await run('SELECT * FROM world.parents ORDER BY id'),
  children: await run('SELECT * FROM world.children ORDER BY id'),
  parts: await run('SELECT * FROM world.parts ORDER BY day'),
});

beforeAll(async () => {
  await run('CREATE SCHEMA world');
  // The child comes first alphabetically.
  await run('CREATE TABLE world.parents (id int PRIMARY KEY, name text)');
  await run(`CREATE TABLE world.children (
    id int PRIMARY KEY GENERATED ALWAYS AS IDENTITY, bytes bytea, texts text[], data jsonb, at timestamptz,
    parent_id int REFERENCES world.parents ON DELETE CASCADE)`);
  await run('CREATE TABLE world.parts (day int) PARTITION BY RANGE (day)');
  await run('CREATE TABLE world.parts_1 PARTITION OF world.parts FOR VALUES FROM (0) TO (10)');
  await run('CREATE TABLE world.claims (owner text)');
});
beforeEach(async () => {
  await run('TRUNCATE world.parents, world.children, world.parts, world.claims RESTART IDENTITY');
  await run(`INSERT INTO world.parents VALUES (1, 'one'), (2, NULL)`);
  await run(`INSERT INTO world.children (bytes, texts, data, at, parent_id) VALUES
    ('\\x00ff', ARRAY['a "b", \\c', NULL, ''], '{"k": [1, "x"]}', '2026-01-02T03:04:05.678Z', 1),
    (NULL, '{}', 'null', NULL, 2)`);
  await run('INSERT INTO world.parts VALUES (5)');
  await run(`INSERT INTO world.claims VALUES ('this process')`);
  saved = await saveTables(database, 'world', ['claims']);
});

it.each([
  ['nothing'],
  ['INSERT INTO world.children (parent_id) VALUES (1)'],
  ['INSERT INTO world.parts VALUES (6), (7)'],
  ["UPDATE world.parents SET name = 'other' WHERE id = 1"],
  ['DELETE FROM world.parents WHERE id = 2'],
  ['UPDATE world.children SET data = NULL WHERE id = 1'],
  ["INSERT INTO world.parents VALUES (3, 'new') RETURNING id"],
  ['TRUNCATE world.parents, world.children, world.parts'],
])('rows are restored after %s, repeatedly', async (change) => {
  const before = await look();
  for (const _ of [1, 2]) {
    if (change !== 'nothing') await run(change);
    await saved.restore(database);
    expect(await look()).toEqual(before);
  }
  const [next] = await run('INSERT INTO world.children (parent_id) VALUES (1) RETURNING id');
  expect(next).toEqual({ id: 3 });
});

it('a child of a later parent is removed with it', async () => {
  await run(`INSERT INTO world.parents VALUES (3, 'new')`);
  await run('INSERT INTO world.children (parent_id) VALUES (3)');
  await run(`UPDATE world.children SET parent_id = 3 WHERE id = 1`);
  await saved.restore(database);
  expect((await look()).children.map(({ id, parent_id }) => [id, parent_id])).toEqual([
    [1, 1],
    [2, 2],
  ]);
});

it('several states of the same tables are restored in any order', async () => {
  const first = await look();
  await run(`UPDATE world.parents SET name = 'two' WHERE id = 2`);
  await run('DELETE FROM world.children WHERE id = 1');
  const second = await look();
  const other = await saveTables(database, 'world', ['claims']);
  for (const _ of [1, 2]) {
    await saved.restore(database);
    expect(await look()).toEqual(first);
    await other.restore(database);
    expect(await look()).toEqual(second);
  }
});

it('does not change excepted tables', async () => {
  await run(`UPDATE world.claims SET owner = 'another'`);
  await saved.restore(database);
  expect(await run('SELECT owner FROM world.claims')).toEqual([{ owner: 'another' }]);
});

it('tables are emptied but those that are excluded, while a query reads them', async () => {
  const reader = openPool(test.url, { name: 'reader' });
  await reader.transaction(async (tx) => {
    await tx.query('SELECT FROM world.children');
    await database.transaction((emptying) => emptyTables(emptying, 'world', ['claims']));
    await tx.query('SELECT FROM world.parents');
  });
  await reader.close();
  expect(await look()).toEqual({ parents: [], children: [], parts: [] });
  expect(await run('SELECT * FROM world.claims')).toEqual([{ owner: 'this process' }]);
  expect(await run('INSERT INTO world.children (texts) VALUES (NULL) RETURNING id')).toEqual([{ id: 1 }]);
});
