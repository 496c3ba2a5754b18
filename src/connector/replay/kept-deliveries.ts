import { type Queryable, sqlState } from '../../runtime/database/database.ts';
import { listInboxPartitions } from '../db/inbox-partitions.ts';

/** A delivery about a message, as the kept inbox has it; equal copies of it are one. */
export interface KeptDelivery {
  readonly messageId: string | null;
  readonly accountId: string;
  /** Epoch ms. */
  readonly signedAt: number;
  readonly body: Uint8Array;
  readonly copies: number;
}

/** Messages of a page, and bytes of their deliveries. The first message comes whatever its size. */
const PAGE = 500;
const PAGE_BYTES = 8 * 1024 * 1024;
const UNNAMED = 200;
/** A day is read as a whole to find the deliveries that name no message. */
const DAY_DEADLINE_MS = 10 * 60_000;
const UNDEFINED_TABLE = '42P01';

const OF_MESSAGES = `event IN ('message.received', 'message.status')`;

// Named messages come by the index of each day, in the order of their ids.
const NEXT = `
SELECT k.id, sum(k.bytes)::bigint AS bytes FROM (
  (SELECT i.message_id AS id, sum(octet_length(i.body)) AS bytes FROM connector.inbox i
    WHERE i.message_id > $1 AND i.${OF_MESSAGES} GROUP BY i.message_id ORDER BY i.message_id LIMIT ${PAGE})
  UNION ALL
  SELECT u.id, 0 FROM unnest($2::text[]) u(id) WHERE u.id > $1) k
 GROUP BY k.id ORDER BY k.id LIMIT ${PAGE}`;

/** The next messages after `after` that kept deliveries, or `others`, tell of, in the order of their ids. */
export async function listNextMessages(
  db: Queryable,
  after: string,
  others: readonly string[],
): Promise<readonly string[]> {
  const rows = await db.query<{ id: string; bytes: number }>(NEXT, [after, others]);
  let bytes = 0;
  const fitting = rows.filter((row, index) => {
    bytes += row.bytes;
    return index === 0 || bytes <= PAGE_BYTES;
  });
  return fitting.map(({ id }) => id);
}

/** The kept deliveries of these messages, in the order in which they were stored. */
export async function readKeptDeliveries(
  db: Queryable,
  messageIds: readonly string[],
): Promise<readonly KeptDelivery[]> {
  return await db.query<KeptDelivery>(
    `SELECT i.message_id AS "messageId", i.account_id AS "accountId", min(i.signed_at) AS "signedAt", i.body,
            count(*) AS copies
       FROM connector.inbox i WHERE i.message_id = ANY($1::text[]) AND i.${OF_MESSAGES}
      GROUP BY i.message_id, i.account_id, i.body ORDER BY min(i.id)`,
    [messageIds],
  );
}

/**
 * The kept deliveries whose message could not be read when they came: newer code may read it. Each day is read once,
 * by itself, and one that is dropped meanwhile ends there.
 */
export async function* readUnnamedDeliveries(
  db: Queryable,
  signal: AbortSignal,
): AsyncGenerator<KeptDelivery> {
  for (const day of await listInboxPartitions(db)) {
    for (let after = 0, full = true; full; ) {
      signal.throwIfAborted();
      const rows: (KeptDelivery & { readonly id: number })[] = await db
        .query<KeptDelivery & { id: number }>(
          `SELECT i.id, NULL AS "messageId", i.account_id AS "accountId", i.signed_at AS "signedAt", i.body, 1 AS copies
             FROM connector.${day} i
            WHERE i.message_id IS NULL AND i.${OF_MESSAGES} AND i.id > $1::bigint ORDER BY i.id LIMIT ${UNNAMED}`,
          [after],
          { deadlineMs: DAY_DEADLINE_MS },
        )
        .catch((error: unknown) => {
          if (sqlState(error) === UNDEFINED_TABLE) return [];
          throw error;
        });
      yield* rows;
      after = rows.at(-1)?.id ?? after;
      full = rows.length === UNNAMED;
    }
  }
}
