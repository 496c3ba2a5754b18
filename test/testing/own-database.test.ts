import { expect, inject, it } from 'vitest';
import { createOwnDatabase } from '../../src/testing/own-database.ts';
import { asAdmin } from '../support/database.ts';

const exists = (url: string): Promise<boolean> =>
  asAdmin(async (sql) => {
    const name = new URL(url).pathname.slice(1);
    return (await sql`select 1 from pg_database where datname = ${name}`).length > 0;
  });

it('a database in use is kept, whichever database others are created from; one that nobody uses is removed', async () => {
  const server = inject('databaseUrl');
  const used = await createOwnDatabase(server, []);
  const abandoned = `${used.url.slice(0, -'abandoned'.length)}abandoned`;
  await asAdmin((sql) => sql.unsafe(`create database ${new URL(abandoned).pathname.slice(1)}`));
  const inside = await createOwnDatabase(used.url, []);
  const next = await createOwnDatabase(server, []);
  expect(await Promise.all([used, inside, next].map(({ url }) => exists(url)))).toEqual([true, true, true]);
  expect(await exists(abandoned)).toBe(false);
  for (const database of [next, inside, used]) {
    await database.drop();
    expect(await exists(database.url)).toBe(false);
  }
});
