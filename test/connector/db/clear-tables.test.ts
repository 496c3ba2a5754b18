import { expect, it } from 'vitest';
import { clearTables } from '../../../src/connector/db/clear-tables.ts';
import { databaseOfFile } from '../support/event-fixtures.ts';

const database = databaseOfFile();

/** The rows of every table that has some, but not the id of the feed, which is random. */
async function readRows() {
  const tables = await database.query<{ name: string }>(
    `SELECT tablename::text AS name FROM pg_tables WHERE schemaname = 'connector' ORDER BY 1`,
  );
  const rows: Record<string, unknown[]> = {};
  for (const { name } of tables) {
    const found = await database.query<{ id?: unknown }>(`SELECT * FROM connector."${name}" ORDER BY 1`);
    if (found.length > 0) rows[name] = name === 'feed' ? found.map(({ id: _, ...row }) => row) : found;
  }
  return rows;
}
const feedId = async () => (await database.query('SELECT id FROM connector.feed'))[0]?.['id'];

it('a cleared connector has the rows that the migrations make, and a feed with another id', async () => {
  const migrated = await readRows();
  const before = await feedId();
  await database.query(`UPDATE connector.feed SET base_seq = 7`);
  await database.query(
    `INSERT INTO connector.inbox (received_at, subscription_id, account_id, signed_at, body, outcome, change_mask)
     VALUES (1, 's', 'a', 1, '', 'merged', 0)`,
  );
  expect(await readRows()).not.toEqual(migrated);
  await clearTables(database);
  expect(await readRows()).toEqual(migrated);
  expect(await feedId()).toMatch(/^[0-9a-f]{12}$/);
  expect(await feedId()).not.toBe(before);
});
