import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import postgres from 'postgres';
import { MIGRATIONS_FOLDER, migrateSchema } from '../commands/server-database.ts';
import { listUnreadPartitions, markPartitionRead } from '../connector/db/invalid-deliveries.ts';
import { createPartitionKeeper } from '../connector/db/partition-keeper.ts';
import { READER_VERSION } from '../contract/service/read-fields.ts';
import type { Clock } from '../runtime/clock/clock.ts';
import { systemClock } from '../runtime/clock/system-clock.ts';
import { openDatabase } from '../runtime/database/database.ts';
import { parseUrl, withDatabase } from '../runtime/database/database-url.ts';
import { createLogger, type Logger } from '../runtime/logger/logger.ts';

/** A database that belongs to one user, on a server with many. */
export interface OwnDatabase {
  readonly url: string;
  /** Removes it, even if clients are still connected. */
  drop(): Promise<void>;
}

export type Schema = 'connector' | 'platform';

/** The advisory lock under which a template is made. */
const TEMPLATE_LOCK = 418_276_001;
/** The class of the advisory locks by which users hold their databases. */
const OWNER_LOCK = 418_276;
const DAY_MS = 86_400_000;

/**
 * Creates an empty database, or one with these schemas, which is copied from a template. It is removed when it is
 * dropped or, if this process is killed, when the next one is created. With `clock`, a connector on this clock starts
 * as fast as one on the system clock does otherwise. Throws what the server throws.
 */
export async function createOwnDatabase(
  serverUrl: string,
  schemas: readonly Schema[],
  clock: Clock = systemClock,
): Promise<OwnDatabase> {
  parseUrl(serverUrl);
  // The lock lasts as long as this connection, so it is neither idle for too long nor renewed.
  const sql = postgres(serverUrl, {
    max: 1,
    idle_timeout: 0,
    max_lifetime: null,
    // It reads all types of the server, for arrays as parameters. There are none here.
    fetch_types: false,
    onnotice: () => undefined,
  });
  let name: string;
  try {
    const prefix = await readPrefix(sql);
    name = `${prefix}${randomBytes(8).toString('hex')}`;
    await sql`select pg_advisory_lock(${OWNER_LOCK}, hashtext(${name}))`;
    await removeAbandoned(sql, prefix);
    const template =
      schemas.length === 0 ? 'template0' : await ensureTemplate(sql, serverUrl, schemas, clock);
    const [server] = await sql<{ fsync: string }[]>`show fsync`;
    // Where nothing waits for a disk, copying the files takes a third of writing them through the log.
    const strategy = server?.fsync === 'off' ? 'file_copy' : 'wal_log';
    await sql.unsafe(`create database ${name} template ${template} strategy ${strategy}`);
  } catch (error) {
    await sql.end({ timeout: 1 });
    throw error;
  }
  return {
    url: withDatabase(serverUrl, name),
    async drop() {
      await sql.unsafe(`drop database if exists ${name} with (force)`);
      await sql.end({ timeout: 1 });
    },
  };
}

/**
 * The names of databases that were created from the database of this connection. A lock is only visible in the database
 * in which it was taken, so nobody can tell whether the others are still used.
 */
async function readPrefix(sql: postgres.Sql): Promise<string> {
  const [row] = await sql<{ place: string }[]>`select left(md5(current_database()), 8) as place`;
  return `mctest_${row?.place}_`;
}

/** Removes the databases of processes that were killed: no process holds their locks. */
async function removeAbandoned(sql: postgres.Sql, prefix: string): Promise<void> {
  const abandoned = await sql<{ name: string }[]>`
    select datname as name from pg_database
    where starts_with(datname, ${prefix}) and pg_try_advisory_lock(${OWNER_LOCK}, hashtext(datname))`;
  for (const { name } of abandoned) {
    await sql.unsafe(`drop database if exists ${name} with (force)`);
    await sql`select pg_advisory_unlock(${OWNER_LOCK}, hashtext(${name}))`;
  }
}

/**
 * The name contains a hash of the migrations, so a changed migration leads to another template. So does a clock that
 * does not show the time.
 */
async function ensureTemplate(
  sql: postgres.Sql,
  serverUrl: string,
  schemas: readonly Schema[],
  clock: Clock,
): Promise<string> {
  const day = clock === systemClock ? '' : `_${Math.floor(clock.now() / DAY_MS)}`;
  const name = `template_${schemas.join('_')}_${hashMigrations(schemas)}${day}`;
  if (await exists(sql, name)) return name;
  await sql`select pg_advisory_lock(${TEMPLATE_LOCK})`;
  try {
    if (await exists(sql, name)) return name;
    const draft = `draft_${randomBytes(8).toString('hex')}`;
    await sql.unsafe(`create database ${draft} template template0`);
    const logger = createLogger({ level: 'silent', name: 'testing' });
    const url = withDatabase(serverUrl, draft);
    for (const schema of schemas) await migrateSchema(schema, { url, clock: systemClock, logger });
    if (schemas.includes('connector')) await makeDays(url, clock, logger);
    await sql.unsafe(`alter database ${draft} rename to ${name}`);
    return name;
  } finally {
    await sql`select pg_advisory_unlock(${TEMPLATE_LOCK})`;
  }
}

/** Creates the partitions that each start of a connector would otherwise create, and read for old deliveries. */
async function makeDays(url: string, clock: Clock, logger: Logger): Promise<void> {
  const database = openDatabase({ url, name: 'testing', clock: systemClock, logger });
  try {
    const days = { inboxDays: 1, changeDays: Infinity, messageDays: Infinity };
    await createPartitionKeeper({ database, clock, logger, ...days }).keep();
    for (const day of await listUnreadPartitions(database, READER_VERSION))
      await markPartitionRead(database, day, READER_VERSION);
  } finally {
    await database.close();
  }
}

async function exists(sql: postgres.Sql, name: string): Promise<boolean> {
  const rows = await sql`select 1 from pg_database where datname = ${name}`;
  return rows.length > 0;
}

function hashMigrations(schemas: readonly Schema[]): string {
  const hash = createHash('sha256');
  for (const schema of schemas) {
    const folder = join(MIGRATIONS_FOLDER, schema);
    for (const file of readdirSync(folder).sort()) {
      if (file.endsWith('.sql')) hash.update(file).update(readFileSync(join(folder, file)));
    }
  }
  return hash.digest('hex').slice(0, 12);
}
