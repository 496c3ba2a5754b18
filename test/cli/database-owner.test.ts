import { describe, expect, it, onTestFinished } from 'vitest';
import { claimForSandbox, hasOwnConnector, refuseSandbox } from '../../src/commands/database-owner.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import type { Database } from '../../src/runtime/database/database.ts';
import { createTestDatabase, openPool } from '../support/database.ts';
import { silentLogger } from '../support/platform.ts';

const WITH_CONNECTOR = { connector: true };
const SERVICE_ALONE = { connector: false };

async function openNamed(schemas: { connector?: boolean; platform?: boolean } = {}) {
  const { url, drop } = await createTestDatabase(schemas);
  const database = openPool(url, { poolSize: 1 });
  onTestFinished(async () => {
    await database.close();
    await drop();
  });
  return { database, named: { url, setting: 'DATABASE_URL', clock: systemClock, logger: silentLogger } };
}

/** Its schemas with their comments. */
async function schemasOf(database: Database): Promise<unknown> {
  return await database.query(
    `select nspname as name, obj_description(oid, 'pg_namespace') as comment
       from pg_namespace where nspname in ('connector', 'platform') order by 1`,
  );
}

async function addAccount(database: Database, baseUrl: string | null): Promise<void> {
  await database.query(
    `insert into connector.accounts (id, kind, subscription_id, base_url, created_at) values ('a', 'api_key', 's', $1, 1)`,
    [baseUrl],
  );
}

describe('a sandbox', () => {
  it('takes an empty database, marks it, and takes it again', async () => {
    const { database, named } = await openNamed();
    // The table of an extension belongs to nobody else.
    await database.query('create table spatial_ref_sys (id int)');
    await database.query('alter extension plpgsql add table spatial_ref_sys');
    await claimForSandbox(named, WITH_CONNECTOR);
    await claimForSandbox(named, WITH_CONNECTOR);
    expect(await schemasOf(database)).toEqual([
      { name: 'connector', comment: 'sandbox of messaging-connector' },
    ]);
  });

  it.each([
    ['a connector without accounts', null],
    ['a connector of a real service', 'https://service.example/api/v1'],
    ['a connector of a service on this machine', 'http://127.0.0.1:4010/api/v1'],
  ])('refuses the database of %s, and does not change it', async (_, baseUrl) => {
    const { database, named } = await openNamed({ connector: true });
    if (baseUrl !== null) await addAccount(database, baseUrl);
    await expect(claimForSandbox(named, WITH_CONNECTOR)).rejects.toThrow(
      /DATABASE_URL: contains the data of a connector .* must not use it\. It was not changed\. Remove DATABASE_URL from \.env/,
    );
    expect(await schemasOf(database)).toEqual([{ name: 'connector', comment: null }]);
  });

  it('without a connector refuses the database of a real service, also beside its own tables', async () => {
    const { database, named } = await openNamed({ connector: true, platform: true });
    await claimForSandbox(named, SERVICE_ALONE);
    await addAccount(database, 'https://service.example/api/v1');
    await expect(claimForSandbox(named, SERVICE_ALONE)).rejects.toThrow('contains the data of a connector');
    await database.query(`update connector.accounts set base_url = null`);
    await expect(claimForSandbox(named, SERVICE_ALONE)).rejects.toThrow('contains the data of a connector');
    await database.query(`update connector.accounts set base_url = 'http://localhost:4010/api/v1'`);
    await claimForSandbox(named, SERVICE_ALONE);
    await database.query(`update connector.accounts set id = 'local'`);
    await addAccount(database, 'https://service.example/api/v1');
    await expect(claimForSandbox(named, SERVICE_ALONE)).rejects.toThrow('contains the data of a connector');
  });

  it('refuses a database with tables of other programs', async () => {
    const { database, named } = await openNamed();
    await database.query('create table customers (id int)');
    await database.query('create schema crm');
    await database.query('create table crm.orders (id int)');
    for (const use of [WITH_CONNECTOR, SERVICE_ALONE]) {
      await expect(claimForSandbox(named, use)).rejects.toThrow('tables of other programs (in crm, public)');
    }
    expect(await schemasOf(database)).toEqual([]);
  });
});

describe('a connector of its own', () => {
  it('refuses the database of a sandbox, and says how to continue', async () => {
    const { named } = await openNamed();
    await claimForSandbox(named, WITH_CONNECTOR);
    await expect(refuseSandbox(named)).rejects.toThrow(
      /DATABASE_URL: is the database of npm start.* Set DATABASE_URL to another database/,
    );
    await expect(refuseSandbox({ ...named, setting: '--data-dir' })).rejects.toThrow(
      'npm run connector -- --data-dir .data-connector',
    );
  });

  it('is recognized by its tables, unless they are those of a sandbox', async () => {
    expect(await hasOwnConnector((await openNamed()).database)).toBe(false);
    const { database } = await openNamed({ connector: true });
    expect(await hasOwnConnector(database)).toBe(true);
    await database.query(`comment on schema connector is 'sandbox of messaging-connector'`);
    expect(await hasOwnConnector(database)).toBe(false);
  });

  it('takes an empty database, one of a connector, and one with tables of other programs', async () => {
    const empty = await openNamed();
    await empty.database.query('create table customers (id int)');
    await refuseSandbox(empty.named);
    await refuseSandbox((await openNamed({ connector: true })).named);
  });
});
