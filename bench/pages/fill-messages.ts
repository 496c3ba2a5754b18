import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import { createPlatform } from '../../src/platform/platform.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { type Database, openDatabase } from '../../src/runtime/database/database.ts';
import { migrateDatabase } from '../../src/runtime/database/migrate.ts';
import { createLogger } from '../../src/runtime/logger/logger.ts';

/** A service's database with one workspace and its messages. */
export interface FilledDatabase {
  readonly rows: number;
  readonly database: Database;
  readonly workspaceId: string;
  /** Get most of the messages, evenly. */
  readonly busy: readonly string[];
  /** Get one message of 25 each. */
  readonly quiet: readonly string[];
  close(): Promise<void>;
}

const BUSY = 18;
const QUIET = 2;

const logger = createLogger({ level: 'warn', name: 'bench', destination: 'stderr' });

/** Migrates an empty database and fills it. Messages are spread over the connections as they come in. */
export async function fillMessages(url: string, rows: number): Promise<FilledDatabase> {
  const folder = fileURLToPath(new URL('../../drizzle/platform', import.meta.url));
  await migrateDatabase({ url, folder, schema: 'platform', logger, clock: systemClock });
  const database = openDatabase({ url, name: 'bench-pages', clock: systemClock, logger });
  try {
    const { workspaceId, connectionIds } = await makeConnections(database);
    await insertMessages(url, { workspaceId, connectionIds, rows });
    return {
      rows,
      database,
      workspaceId,
      quiet: connectionIds.slice(0, QUIET),
      busy: connectionIds.slice(QUIET),
      close: () => database.close(),
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function makeConnections(
  database: Database,
): Promise<{ workspaceId: string; connectionIds: readonly string[] }> {
  const nowhere = 'http://127.0.0.1';
  const platform = await createPlatform({
    database,
    systemClock,
    logger,
    baseUrls: () => ({ api: nowhere, legacyApi: nowhere, auth: nowhere }),
    sendScale: 0,
  });
  try {
    const { id: workspaceId } = await platform.workspaces.create({ kind: 'standalone', slots: BUSY + QUIET });
    const connectionIds: string[] = [];
    for (let number = 0; number < BUSY + QUIET; number += 1) {
      const paired = { provider: 'qr', phoneNumber: String(491_500_000_000 + number) } as const;
      connectionIds.push((await platform.connections.createPaired(workspaceId, paired)).id);
    }
    return { workspaceId, connectionIds };
  } finally {
    await platform.close();
  }
}

interface Load {
  readonly workspaceId: string;
  readonly connectionIds: readonly string[];
  readonly rows: number;
}

/** Without indexes first, which are built over all rows at once; the table is not logged, it is for reading. */
async function insertMessages(url: string, { workspaceId, connectionIds, rows }: Load): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    await sql`ALTER TABLE platform.messages SET UNLOGGED`;
    await sql`SET maintenance_work_mem = '512MB'`;
    const indexes = await sql<{ indexname: string; indexdef: string }[]>`
      SELECT indexname, indexdef FROM pg_indexes
      WHERE schemaname = 'platform' AND tablename = 'messages' AND indexname <> 'messages_pkey'`;
    for (const { indexname } of indexes) await sql`DROP INDEX ${sql(`platform.${indexname}`)}`;
    await sql`ALTER TABLE platform.messages DROP CONSTRAINT messages_pkey`;
    await sql`
      INSERT INTO platform.messages
        (id, workspace_id, connection_id, direction, peer, text, status, receipts, wa_message_id, created_at)
      SELECT 'cm' || lpad(to_hex(n), 23, '0'), ${workspaceId},
        (${[...connectionIds]}::text[])[CASE WHEN n % 25 < ${QUIET} THEN 1 + n % 25 ELSE ${QUIET + 1} + n % ${BUSY} END],
        CASE WHEN n % 2 = 0 THEN 'incoming' ELSE 'outgoing' END, (491700000000 + n % 5000)::text,
        'Good morning, is the parcel on its way or shall I call the shop again before noon? ' || n,
        'read', 7, '3EB0' || lpad(to_hex(n), 16, '0'), 1767225600000 + n * 1000
      FROM generate_series(1, ${rows}::bigint) AS n ORDER BY n`;
    await sql`ALTER TABLE platform.messages ADD PRIMARY KEY (id)`;
    for (const { indexdef } of indexes) await sql.unsafe(indexdef);
    await sql`VACUUM (ANALYZE) platform.messages`;
  } finally {
    await sql.end({ timeout: 5 });
  }
}
