import { type Queryable, sqlState } from '../../runtime/database/database.ts';
import { endOfPartition, listInboxPartitions } from '../db/inbox-partitions.ts';

/** A delivery about a message, as the kept inbox has it. Times in epoch ms. */
export interface StoredDelivery {
  readonly id: number;
  readonly accountId: string;
  readonly receivedAt: number;
  readonly signedAt: number;
  readonly body: Uint8Array;
}

/** Deliveries that were read together, in the order in which they were stored. */
export interface InboxChunk {
  /** The partition. */
  readonly day: string;
  readonly deliveries: readonly StoredDelivery[];
  /** How much of the inbox is read with this chunk, 0 to 1. */
  readonly done: number;
}

interface Row extends Omit<StoredDelivery, 'body'> {
  readonly at: string;
  readonly body: Uint8Array | null;
}

interface Day {
  readonly name: string;
  /** As the day was when the reading began; what comes later is not read. */
  readonly blocks: number;
}

/** Blocks of a partition that one statement reads: some thousand deliveries at most, in milliseconds. */
const BLOCKS = 64;
/** Bodies up to this size come with their rows, larger ones one by one. */
const USUAL_BYTES = 16 * 1024;
const UNDEFINED_TABLE = '42P01';

/**
 * Reads every delivery about a message in the kept inbox, day by day and block by block. The inbox is only ever
 * appended to, so this is the order in which it was written, and no index is needed. Each statement is short: nothing
 * waits behind it. A day that is dropped meanwhile ends there. Memory is bounded by a chunk.
 */
export async function* readInbox(db: Queryable, signal: AbortSignal): AsyncGenerator<InboxChunk> {
  const days = await listDays(db);
  const total = days.reduce((sum, { blocks }) => sum + blocks, 0);
  let before = 0;
  for (const { name, blocks } of days) {
    for (let from = 0; from < blocks; from += BLOCKS) {
      signal.throwIfAborted();
      const to = Math.min(from + BLOCKS, blocks);
      const deliveries = await readBlocks(db, name, from, to).catch(ignoreDropped);
      if (deliveries === null) break;
      yield { day: name, deliveries, done: (before + to) / total };
    }
    before += blocks;
  }
}

/** The days in their order, and then the default partition. Names come from the catalogue. */
async function listDays(db: Queryable): Promise<Day[]> {
  const names = (await listInboxPartitions(db)).sort((a, b) => endOfPartition(a) - endOfPartition(b));
  const days: Day[] = [];
  for (const name of names) {
    const [row] = await db.query<{ blocks: number }>(
      `SELECT pg_relation_size(to_regclass('connector.' || $1::text)) / current_setting('block_size')::bigint AS blocks`,
      [name],
    );
    days.push({ name, blocks: row?.blocks ?? 0 });
  }
  return days;
}

async function readBlocks(db: Queryable, day: string, from: number, to: number): Promise<StoredDelivery[]> {
  const rows = await db.query<Row>(
    `SELECT i.ctid::text AS at, i.id, i.account_id AS "accountId", i.received_at AS "receivedAt",
            i.signed_at AS "signedAt", CASE WHEN octet_length(i.body) <= ${USUAL_BYTES} THEN i.body END AS body
       FROM connector.${day} i
      WHERE i.ctid >= $1::tid AND i.ctid < $2::tid AND i.event IN ('message.received', 'message.status')`,
    [`(${from},0)`, `(${to},0)`],
  );
  const deliveries: StoredDelivery[] = [];
  for (const { at, ...row } of rows) {
    const body = row.body ?? (await readBody(db, day, at, row.id));
    if (body !== null) deliveries.push({ ...row, body });
  }
  return deliveries.sort((a, b) => a.id - b.id);
}

async function readBody(db: Queryable, day: string, at: string, id: number): Promise<Uint8Array | null> {
  const [row] = await db.query<{ body: Uint8Array }>(
    `SELECT body FROM connector.${day} WHERE ctid = $1::tid AND id = $2::bigint`,
    [at, id],
  );
  return row?.body ?? null;
}

function ignoreDropped(error: unknown): null {
  if (sqlState(error) === UNDEFINED_TABLE) return null;
  throw error;
}
