import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { DoctorSettings, StoreCheckInput } from '../../../src/connector/doctor/check-input.ts';
import { snapshotsCheck } from '../../../src/connector/doctor/checks/snapshots.ts';
import { judgeMigrations } from '../../../src/connector/doctor/judge-migrations.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { migrateDatabase } from '../../../src/runtime/database/migrate.ts';
import { asAdmin, createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { findFreePort } from '../../support/find-free-port.ts';
import { startOwnPostgres } from '../../support/own-postgres.ts';
import { silentLogger } from '../../support/platform.ts';
import { REDIS_MISSING, startTestRedis } from '../../support/redis.ts';
import { holdSnapshot } from '../support/hold-snapshot.ts';
import { examineWith, MIGRATIONS, openForDoctor, told } from './examined-system.ts';

const SETTINGS: DoctorSettings = {
  host: '127.0.0.1',
  port: 0,
  sealingKeys: [],
  reconcileIntervalMs: 45_000,
  inboxRetentionDays: 30,
};

/** The result of a check of this database. */
async function ask(check: string, databaseUrl: string): Promise<string> {
  return told(await examineWith(SETTINGS, { databaseUrl }), check);
}

describe('a database', () => {
  let database: TestDatabase;
  const roles: string[] = [];

  beforeAll(async () => {
    database = await createTestDatabase({ connector: true });
  });

  afterAll(async () => {
    await database.drop();
    await asAdmin(async (sql) => {
      for (const role of roles) await sql.unsafe(`drop role if exists ${role}`);
    });
  });

  /** Does something to a database as its owner. */
  async function run(url: string, ...statements: string[]): Promise<void> {
    const owner = openForDoctor(url);
    for (const statement of statements) await owner.query(statement);
    await owner.close();
  }

  /** The address of the database for a new user. */
  const migrate = (url: string) =>
    migrateDatabase({
      url,
      schema: 'connector',
      folder: MIGRATIONS,
      logger: silentLogger,
      clock: systemClock,
    });

  async function asNewUser(): Promise<{ readonly role: string; readonly url: string }> {
    const role = `role_${randomBytes(6).toString('hex')}`;
    const password = randomBytes(12).toString('hex');
    roles.push(role);
    await asAdmin(async (sql) => void (await sql.unsafe(`create role ${role} login password '${password}'`)));
    const url = new URL(database.url);
    url.username = role;
    url.password = password;
    return { role, url: url.href };
  }

  it('is reported if it does not listen, or does not exist', async () => {
    const away = new URL(database.url);
    away.port = String(await findFreePort());
    const reports = await examineWith(SETTINGS, { databaseUrl: away.href });
    expect(told(reports, 'database')).toMatch(
      /^problem: Cannot use Postgres at .*\n.*ECONNREFUSED[\s\S]*Nothing is listening there/,
    );
    expect(told(reports, 'rights')).toBe('not_checked: The database cannot be queried.');
    // Of several hosts, each is named with what it says.
    expect(await ask('database', away.href.replace(away.host, `${away.host},${away.host}`))).toMatch(
      /^problem: Cannot use Postgres at .*nothing is listening there.*; cannot use Postgres at .*Postgres is running/,
    );
    const missing = new URL(database.url);
    missing.pathname = '/nothing_of_this_name';
    expect(await ask('database', missing.href)).toMatch(/^problem[\s\S]*does not exist/);
  });

  it('is reported if it has no tables, or those of an older or a newer version', async () => {
    const { url, drop } = await createTestDatabase();
    onTestFinished(drop);
    expect(await ask('migrations', url)).toMatch(
      /^problem: The database does not contain the tables of a connector/,
    );
    await migrate(url);
    expect(await ask('migrations', url)).toMatch(/^ok/);
    const table = 'connector.applied_migrations';
    await run(url, `insert into ${table} values (9999999999999, 'of a later version')`);
    expect(await ask('migrations', url)).toMatch(/^problem: The schema "connector" is of a newer version/);
    await run(url, `delete from ${table} where created_at = 9999999999999`);
    await run(url, `update ${table} set hash = 'other'`);
    expect(await ask('migrations', url)).toMatch(
      /^problem: A migration that was applied to the schema "connector" differs/,
    );
    expect(judgeMigrations({ kind: 'pending', applied: 3, pending: 1 })).toMatchObject({
      verdict: 'problem',
      says: '1 migration has not been applied yet.',
    });
  });

  it('is reported if its user lacks rights, or it does not accept writes', async () => {
    const { role, url } = await asNewUser();
    onTestFinished(() => run(database.url, `drop owned by ${role}`));
    await run(
      database.url,
      `grant usage on schema connector to ${role}`,
      `grant select on all tables in schema connector to ${role}`,
    );
    expect(await ask('rights', url)).toMatch(
      new RegExp(
        `^problem: The user ${role} lacks rights[\\s\\S]*No full access to accounts[\\s\\S]*No right to create tables[\\s\\S]*belongs to another user`,
      ),
    );
    await asAdmin(
      async (sql) => void (await sql.unsafe(`alter role ${role} set default_transaction_read_only = on`)),
    );
    expect(await ask('rights', url)).toMatch(/^problem: The database does not accept writes/);
  });

  it('is reported with the session that keeps dead rows, without the values of its statement', async () => {
    const release = await holdSnapshot(
      database.url,
      `SELECT count(*)\n  FROM connector.messages WHERE peer = '447700900201'`,
    );
    onTestFinished(release);
    const young = await ask('snapshots', database.url);
    expect(young).toMatch(/^ok/);
    expect(young).not.toContain('SELECT');
    const clock = { ...systemClock, now: () => systemClock.now() + 3 * 60 * 60_000 };
    const late = told(await examineWith(SETTINGS, { databaseUrl: database.url, clock }), 'snapshots');
    expect(late).toMatch(
      /^warning: Dead rows cannot be removed[\s\S]*began 3 h ago: process \d+ \(role \w+, application holder, idle in transaction\), "SELECT count\(\*\) FROM connector\.messages WHERE peer ="[\s\S]*pg_terminate_backend\(\d+\)/,
    );
    expect(late).not.toContain('447700900201');
  });

  it('is reported with transactions that were prepared more than 30 minutes ago', async () => {
    const prepared = [31, 29].map((minutes) => ({ name: `${minutes} min`, since: -minutes * 60_000 }));
    const query = async (text: string) => (text.includes('pg_prepared_xacts') ? prepared : []);
    const input = { database: { query }, clock: { now: () => 0 } } as unknown as StoreCheckInput;
    expect(await snapshotsCheck.run(input)).toMatchObject({
      verdict: 'warning',
      evidence: ['The transaction 31 min was prepared 31 min ago and has not ended.'],
    });
  });

  it('is reported with sessions that it may not see', async () => {
    const { role, url } = await asNewUser();
    onTestFinished(() => run(database.url, `drop owned by ${role}`));
    await run(
      database.url,
      `grant usage on schema connector to ${role}`,
      `grant select on all tables in schema connector to ${role}`,
    );
    const release = await holdSnapshot(database.url);
    onTestFinished(release);
    expect(await ask('snapshots', url)).toMatch(/sessions? of other roles cannot be seen/);
  });

  it('is reported with slots that nobody reads', async () => {
    // Other tests share a server, and would see its slots.
    const own = await startOwnPostgres();
    onTestFinished(own.stop);
    await migrate(own.url);
    await run(own.url, `select pg_create_physical_replication_slot('of_a_standby', true)`);
    expect(await ask('snapshots', own.url)).toMatch(
      /^warning[\s\S]*Nobody reads the replication slot of_a_standby\. It keeps \d+ MiB/,
    );
  });

  it('is not reported if it has free connections, but a missing account is', async () => {
    expect(await ask('connections', database.url)).toMatch(/^ok/);
    expect(await ask('account', database.url)).toMatch(/^warning: There is no account/);
  });
});

describe.skipIf(REDIS_MISSING !== undefined)('Redis', () => {
  const ask = async (redisUrl: string): Promise<string> =>
    told(await examineWith({ ...SETTINGS, redisUrl }, { whyNoDatabase: 'there is none' }), 'redis');

  it('is reported if it evicts, is full, is a replica, requires a password or does not listen, and not otherwise', async () => {
    const redis = await startTestRedis(['--maxmemory', '3mb', '--maxmemory-policy', 'allkeys-lru']);
    try {
      expect(await ask(redis.url)).toMatch(
        /^problem: Redis may evict notifications: its maxmemory-policy is allkeys-lru[\s\S]*CONFIG SET maxmemory-policy noeviction/,
      );
      const { Redis } = await import('ioredis');
      const admin = new Redis(redis.url);
      await admin.config('SET', 'maxmemory-policy', 'noeviction');
      await admin.config('SET', 'maxmemory', '0');
      expect(await ask(redis.url)).toMatch(/^ok: Redis answers and evicts nothing/);
      await admin.set('of-somebody-else', 'x'.repeat(8_000_000));
      await admin.config('SET', 'maxmemory', '9mb');
      expect(await ask(redis.url)).toMatch(/^warning: Redis is nearly full/);
      await admin.replicaof('127.0.0.1', await findFreePort());
      expect(await ask(redis.url)).toMatch(/^problem: Redis is a replica/);
      await admin.config('SET', 'requirepass', 'pass-of-a-test');
      expect(await ask(redis.url)).toMatch(/^problem: Redis refuses the user name or the password/);
      admin.disconnect();
    } finally {
      await redis.stop();
    }
    expect(await ask(redis.url)).toMatch(
      /^problem: Redis cannot be used\. Nothing listens at 127\.0\.0\.1:\d+/,
    );
  });
});
