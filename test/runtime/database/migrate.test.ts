import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import {
  inspectMigrations,
  MigrationFailed,
  migrateDatabase,
} from '../../../src/runtime/database/migrate.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';
import { createTestDatabase, openPool } from '../../support/database.ts';
import { makeFolder } from '../../support/make-folder.ts';
import { ofTest } from '../../support/of-file.ts';

const logger = createLogger({ level: 'silent', name: 'test' });

/** As drizzle-kit writes them. The first one also creates its schema. */
const FIRST =
  'CREATE SCHEMA "shop";\n--> statement-breakpoint\nCREATE TABLE "shop"."item" ("id" integer PRIMARY KEY);';
const SECOND = 'ALTER TABLE "shop"."item" ADD COLUMN "name" text;';

describe('migrations', () => {
  const test = ofTest(createTestDatabase, (made) => made.drop());
  const database = ofTest(async () => openPool(test.url, { poolSize: 2 }));
  let folder: string;

  beforeEach(async () => {
    folder = makeFolder();
    await mkdir(join(folder, 'meta'));
  });

  /** Writes a folder with these migrations, in this order of time. */
  const write = async (...texts: readonly string[]): Promise<void> => {
    const entries = texts.map((_, idx) => ({
      idx,
      version: '7',
      when: 1_700_000_000_000 + idx,
      tag: `000${idx}_step`,
      breakpoints: true,
    }));
    await writeFile(
      join(folder, 'meta', '_journal.json'),
      JSON.stringify({ version: '7', dialect: 'postgresql', entries }),
    );
    await Promise.all(texts.map((text, idx) => writeFile(join(folder, `000${idx}_step.sql`), text)));
  };

  const migrate = (): Promise<{ applied: number }> =>
    migrateDatabase({ url: test.url, folder, schema: 'shop', logger, clock: systemClock });

  const columns = async (): Promise<unknown[]> => {
    const rows = await database.query(
      "select column_name as name from information_schema.columns where table_schema = 'shop' and table_name = 'item' order by ordinal_position",
    );
    return rows.map((row) => row['name']);
  };

  it('creates the schema, and applies each new migration once', async () => {
    await write(FIRST);
    expect(await migrate()).toEqual({ applied: 1 });
    expect(await migrate()).toEqual({ applied: 0 });
    await write(FIRST, SECOND);
    expect(await migrate()).toEqual({ applied: 1 });
    expect(await columns()).toEqual(['id', 'name']);
  });

  it('needs no right to create a schema that exists and is its own', async () => {
    const role = `owner_${randomUUID().slice(0, 8)}`;
    await database.query(`create role ${role} login password 'x'`);
    await database.query(`create schema shop authorization ${role}`);
    await write(FIRST);
    const url = Object.assign(new URL(test.url), { username: role, password: 'x' }).href;
    const applied = migrateDatabase({ url, folder, schema: 'shop', logger, clock: systemClock });
    expect(await applied.finally(() => database.query(`drop owned by ${role}`))).toEqual({ applied: 1 });
    await database.query(`drop role ${role}`);
  });

  it('works when four replicas start at once', async () => {
    await write(FIRST, SECOND);
    const results = await Promise.all([migrate(), migrate(), migrate(), migrate()]);
    expect(results.map(({ applied }) => applied).sort()).toEqual([0, 0, 0, 2]);
    expect(await columns()).toEqual(['id', 'name']);
  });

  it('rolls back a run in which one migration fails, and reports what failed', async () => {
    await write(FIRST, 'ALTER TABLE "shop"."no_such_table" ADD COLUMN "x" text;');
    const error = await migrate().catch((e: unknown) => e);
    expect(error).toBeInstanceOf(MigrationFailed);
    expect(String(error)).toMatch(/rolled back: relation "shop\.no_such_table" does not exist/);
    expect(await columns()).toEqual([]);
    await write(FIRST, SECOND);
    expect(await migrate()).toEqual({ applied: 2 });
  });

  it('applies a migration of several statements without breakpoints', async () => {
    await write(
      `${FIRST.replace('--> statement-breakpoint', '')}\n${SECOND}\nCREATE INDEX ON "shop"."item" ("name");`,
    );
    expect(await migrate()).toEqual({ applied: 1 });
    expect(await columns()).toEqual(['id', 'name']);
  });

  it('applies a migration whose text has function bodies', async () => {
    const body = `CREATE FUNCTION shop.twice(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN n * 2; END $$;`;
    await write(FIRST, body);
    await migrate();
    expect(await database.query('select shop.twice(4) as n')).toEqual([{ n: 8 }]);
  });

  it('uses no JIT compilation for migrations', async () => {
    await write(FIRST, `CREATE TABLE "shop"."setting" AS SELECT current_setting('jit') AS jit;`);
    await migrate();
    expect(await database.query('select jit from shop.setting')).toEqual([{ jit: 'off' }]);
  });

  it('says what an inspection finds, and changes nothing', async () => {
    const inspect = () => inspectMigrations(database, { folder, schema: 'shop' });
    await write(FIRST);
    expect(await inspect()).toEqual({ kind: 'empty' });
    await migrate();
    expect(await inspect()).toEqual({ kind: 'current', applied: 1 });
    await write(FIRST, SECOND);
    expect(await inspect()).toEqual({ kind: 'pending', applied: 1, pending: 1 });
    expect(await columns()).toEqual(['id']);
  });

  it('rejects a database that is newer than the code', async () => {
    await write(FIRST, SECOND);
    await migrate();
    await write(FIRST);
    await expect(migrate()).rejects.toThrow(/"shop" is of a newer version.*or use an empty database/);
  });

  it('rejects a migration that was changed after it was applied', async () => {
    await write(FIRST);
    await migrate();
    await write(`${FIRST}\n-- changed`);
    await expect(migrate()).rejects.toThrow(
      /applied to the schema "shop" differs from the one in this version/,
    );
  });

  it('applies a migration that was written earlier but merged later', async () => {
    await write(FIRST, 'SELECT 1;', SECOND);
    await migrate();
    await database.query('alter table shop.item drop column name');
    await database.query('delete from shop.applied_migrations where created_at = 1700000000002');
    expect(await migrate()).toEqual({ applied: 1 });
    expect(await columns()).toEqual(['id', 'name']);
  });

  it('lets a slow reader of a table go first, and does not keep others waiting meanwhile', async () => {
    await write(FIRST);
    await migrate();
    await write(FIRST, SECOND);
    const [reading, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    // Such as a backup.
    const reader = database.transaction(
      async (tx) => {
        await tx.query('select * from shop.item');
        reading.resolve();
        await over.promise;
      },
      { deadlineMs: 60_000 },
    );
    await reading.promise;
    const migrated = migrate();
    const requested = `select from pg_locks where relation = 'shop.item'::regclass and not granted`;
    await expect.poll(() => database.query(requested), { timeout: 5_000, interval: 20 }).toHaveLength(1);
    await database.query('insert into shop.item values (1)', [], { deadlineMs: 2_000 });
    over.resolve();
    await reader;
    expect(await migrated).toEqual({ applied: 1 });
    expect(await columns()).toEqual(['id', 'name']);
  });

  it('reports that the folder contains no migrations', async () => {
    await expect(migrate()).rejects.toThrow(/npm run migrations/);
  });

  it('rejects a schema name that would need quoting', async () => {
    const options = { url: test.url, folder, logger, clock: systemClock };
    await expect(migrateDatabase({ ...options, schema: 'a"; drop schema x' })).rejects.toThrow(
      MigrationFailed,
    );
  });

  it('says what to do if the database cannot be reached', async () => {
    await write(FIRST);
    const url = 'postgres://me@127.0.0.1:1/base';
    const options = { url, folder, schema: 'shop', logger, clock: systemClock };
    await expect(migrateDatabase(options)).rejects.toThrow(/nothing is listening there/);
  });
});
