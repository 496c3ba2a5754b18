import { and, eq, gt, isNull } from 'drizzle-orm';
import type { OutboundState } from '../../contract/connector/outbound.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { selectList } from '../db/column-sql.ts';
import { commitBatch } from '../db/commit-batch.ts';
import type { MessageFacts } from '../db/facts.ts';
import { heldLease, isHeld, type Lease } from '../db/lease.ts';
import { IS_UNFINISHED, outbound, UNFINISHED } from '../db/outbox-tables.ts';
import { dueAtSql } from '../work/planned.ts';
import { SHOWN, type StoredOutbound, writeSendChanges } from './stored-outbound.ts';

/** The kind of lease that protects a queue. The rest of the lease name is the connection. */
export const SEND = 'send';

const QUEUE_COLUMNS = {
  mediaFingerprint: outbound.mediaFingerprint,
  idempotencyKey: outbound.idempotencyKey,
  attemptId: outbound.attemptId,
  firstAttemptAt: outbound.firstAttemptAt,
  lastAttemptAt: outbound.lastAttemptAt,
  lostAt: outbound.lostAt,
  inDoubt: outbound.inDoubt,
};

/**
 * A send as its queue sees it. Times in epoch ms. `attemptId` is the attempt in progress, or one whose process
 * died; it is null in state `sending` while the send is being looked up.
 */
export type QueuedSend = StoredOutbound &
  Readonly<Pick<typeof outbound.$inferSelect, keyof typeof QUEUE_COLUMNS>>;

/** A send that its queue takes next, and when; null: at once. */
export type NextSend = QueuedSend & { readonly dueAt: number | null };

const COLUMNS = selectList({ ...SHOWN, ...QUEUE_COLUMNS }, 'o');

/** Longer than any wait of the policy, 15 minutes and a fifth. */
const LONGEST_WAIT_MS = 20 * 60_000;
/**
 * SQL: when a send is due, null: at once. The service may ask for more than the longest wait of the policy: then the
 * stored wait counts, which began with the last write.
 */
export const dueAt = (send: string, now: string): string =>
  dueAtSql(
    `${send}.next_attempt_at`,
    now,
    `greatest(${LONGEST_WAIT_MS}, ${send}.next_attempt_at - ${send}.updated_at)`,
  );

/**
 * SQL: the row of the send that a queue takes next, with the time from which it is due in `next_attempt_at`; no
 * row if the queue is empty. This is the first unfinished send. If that one is being looked up and the service
 * has answered the last look-up, the first send to another recipient may pass it. No send passes two others, so
 * that a service that loses every answer brings at most two files of a queue into doubt. Takes SQL expressions. The
 * sends up to `above` are known to have finished.
 */
export function nextSend(connectionId: string, now: string, above: string): string {
  const unfinished = `n.state IN ${UNFINISHED} AND n.position > ${above}`;
  return `(
    SELECT either.*, head.position AS first_position FROM (
      SELECT n.* FROM connector.outbound n
       WHERE n.connection_id = ${connectionId} AND ${unfinished} ORDER BY n.position LIMIT 1) head
     CROSS JOIN LATERAL (
      SELECT head.*
       UNION ALL
      (SELECT n.* FROM connector.outbound n
        WHERE head.state = 'sending' AND head.attempt_id IS NULL AND NOT head.awaits_service
          AND n.connection_id = head.connection_id AND ${unfinished} AND n.recipient <> head.recipient
        ORDER BY n.position LIMIT 1)) either
     ORDER BY greatest(${dueAt('either', now)}, ${now}), either.position LIMIT 1)`;
}

/** The send that a queue takes next; those up to `above` have finished. Null if the queue is empty. */
export async function readNextSend(
  db: Queryable,
  connectionId: string,
  now: number,
  above = 0,
): Promise<NextSend | null> {
  const [next] = await db.query<NextSend>(
    `SELECT ${COLUMNS}, ${dueAt('o', '$2::bigint')} AS "dueAt"
       FROM ${nextSend('$1', '$2::bigint', '$3::bigint')} o`,
    [connectionId, now, above],
  );
  return next ?? null;
}

/** The size of the file of a send in bytes; null if it was deleted. */
export async function readFileSize(db: Queryable, outboundId: string): Promise<number | null> {
  const [row] = await db.query<{ size: number }>(
    'select octet_length(bytes) as size from connector.outbound_media where outbound_id = $1',
    [outboundId],
  );
  return row?.size ?? null;
}

/** Receiving a value from the database needs six times its size. */
const PIECE_BYTES = 1024 * 1024;

/** The bytes of the file of a send, which has this size; null if it was deleted. Read in pieces. */
export async function readFile(db: Queryable, outboundId: string, size: number): Promise<Uint8Array | null> {
  const file = Buffer.allocUnsafe(size);
  for (let at = 0; at < size; at += PIECE_BYTES) {
    const [row] = await db.query<{ piece: Uint8Array }>(
      'select substring(bytes from $2::integer for $3::integer) as piece from connector.outbound_media where outbound_id = $1',
      [outboundId, at + 1, PIECE_BYTES],
    );
    if (row === undefined) return null;
    file.set(row.piece, at);
  }
  return file;
}

/** Result of a write: `lost` if another process has the queue now, `conflict` if the row had changed. */
export type WriteResult = 'done' | 'conflict' | 'lost';

const BEGIN = `
WITH guard AS (${heldLease('$1', '$2')}),
begun AS (
  UPDATE connector.outbound o
     SET state = 'sending', attempt_id = $5, attempts = o.attempts + 1,
         first_attempt_at = coalesce(o.first_attempt_at, $3::bigint), last_attempt_at = $3::bigint,
         next_attempt_at = NULL, updated_at = $3::bigint
   WHERE o.id = $4 AND o.state = 'queued' AND EXISTS (SELECT FROM guard)
  RETURNING o.*
),
${writeSendChanges('begun', 'send', '$3::bigint')}
SELECT EXISTS (SELECT FROM guard) AS held, EXISTS (SELECT FROM begun) AS done`;

/** Commits the start of an attempt. */
export async function beginAttempt(
  db: Queryable,
  lease: Lease,
  attempt: { readonly outboundId: string; readonly attemptId: string; readonly now: number },
): Promise<WriteResult> {
  const { outboundId, attemptId, now } = attempt;
  const params = [lease.name, lease.fence, now, outboundId, attemptId];
  return toWriteResult(await db.query<WriteRow>(BEGIN, params));
}

/** The state of a send after an attempt or a look-up. */
export interface SendUpdate {
  readonly outboundId: string;
  /** The attempt that has ended; null for a look-up. */
  readonly attemptId: string | null;
  readonly state: OutboundState;
  readonly messageId: string | null;
  readonly lastError: string | null;
  readonly nextAttemptAt: number | null;
  /**
   * The wait ends early when the service answers the account. Until then, no other send passes one that is
   * being looked up.
   */
  readonly awaitsService: boolean;
  readonly lostAt: number | null;
  readonly inDoubt: boolean;
  /** The send waits as if it had never been attempted: the 23 hours have not begun. */
  readonly resetsFirstAttempt: boolean;
}

const UPDATE = `
WITH guard AS (${heldLease('$1', '$2')}),
updated AS (
  UPDATE connector.outbound o
     SET state = $6, message_id = $7, last_error = coalesce($8, o.last_error), next_attempt_at = $9::bigint,
         lost_at = $10::bigint, in_doubt = $11::boolean, awaits_service = $12::boolean, attempt_id = NULL,
         first_attempt_at = CASE WHEN $13::boolean THEN NULL ELSE o.first_attempt_at END, updated_at = $3::bigint
   WHERE o.id = $4 AND o.attempt_id IS NOT DISTINCT FROM $5 AND o.state IN ${UNFINISHED}
     AND EXISTS (SELECT FROM guard)
  RETURNING o.*
),
deleted_file AS (
  DELETE FROM connector.outbound_media f USING updated u
   WHERE f.outbound_id = u.id AND u.state IN ('sent', 'delivered_not_stored')
),
${writeSendChanges('updated', 'send', '$3::bigint')}
SELECT EXISTS (SELECT FROM guard) AS held, EXISTS (SELECT FROM updated) AS done`;

/**
 * Commits the state of a send together with the message that resulted from it. The message is stored even if
 * the lease was lost; the state of the send only with the lease.
 */
export async function updateSend(
  database: Database,
  lease: Lease,
  update: SendUpdate,
  now: number,
  message?: MessageFacts,
): Promise<WriteResult> {
  const params = [
    lease.name,
    lease.fence,
    now,
    update.outboundId,
    update.attemptId,
    update.state,
    update.messageId,
    update.lastError,
    update.nextAttemptAt,
    update.lostAt,
    update.inDoubt,
    update.awaitsService,
    update.resetsFirstAttempt,
  ];
  if (message === undefined) return toWriteResult(await database.query<WriteRow>(UPDATE, params));
  return await database.transaction(async (tx) => {
    await commitBatch(tx, { now, messages: [message] });
    return toWriteResult(await tx.query<WriteRow>(UPDATE, params));
  });
}

/**
 * Ends the waits of an account's sends that were only for the service to come back. Resolves with the queues
 * that have a send due now. A wait that the service asked for remains.
 */
export async function endWaits(db: Queryable, accountId: string, now: number): Promise<readonly string[]> {
  const { awaitsService, nextAttemptAt } = outbound;
  const ended = await orm(db)
    .update(outbound)
    .set({ nextAttemptAt: now })
    .where(and(eq(outbound.accountId, accountId), IS_UNFINISHED, awaitsService, gt(nextAttemptAt, now)))
    .returning({ connectionId: outbound.connectionId });
  return [...new Set(ended.map(({ connectionId }) => connectionId))];
}

/**
 * Stores when a send is looked up next, and whether that is earlier if the service answers again. Writes no
 * change to the feed.
 */
export async function scheduleLookUp(
  db: Queryable,
  lease: Lease,
  lookUp: { readonly outboundId: string; readonly at: number; readonly awaitsService: boolean },
): Promise<void> {
  const { outboundId, at, awaitsService } = lookUp;
  await orm(db)
    .update(outbound)
    .set({ nextAttemptAt: at, awaitsService })
    .where(
      and(
        eq(outbound.id, outboundId),
        eq(outbound.state, 'sending'),
        isNull(outbound.attemptId),
        isHeld(lease),
      ),
    );
}

/**
 * Whether another send of the connection looks the same in the list of messages, was attempted within
 * `withinMs` of this one, and may have been sent: its answer was lost, or nothing is known of its attempt because
 * the process died. A message that is found could then belong to either.
 */
export async function hasSimilarSend(db: Queryable, send: QueuedSend, withinMs: number): Promise<boolean> {
  const alike = `o.connection_id = $1 AND o.id <> $2 AND (o.in_doubt OR o.state = 'sending') AND o.media_fingerprint = $3
    AND o.media_mimetype = $4 AND coalesce(o.media_caption, '') = $5
    AND o.last_attempt_at BETWEEN $6::bigint - $7::bigint AND $6::bigint + $7::bigint`;
  const [row] = await db.query<{ found: boolean }>(
    `SELECT EXISTS (SELECT FROM connector.outbound o WHERE o.state IN ${UNFINISHED} AND ${alike})
         OR EXISTS (SELECT FROM connector.outbound o WHERE o.state = 'unknown' AND ${alike}) AS found`,
    [
      send.connectionId,
      send.id,
      send.mediaFingerprint,
      send.mediaMimetype,
      send.mediaCaption ?? '',
      send.lastAttemptAt,
      withinMs,
    ],
  );
  return row?.found ?? false;
}

/** Those of these messages that are already known as the result of a send. */
export async function readClaimed(
  db: Queryable,
  connectionId: string,
  messageIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await orm(db)
    .select({ messageId: outbound.messageId })
    .from(outbound)
    .where(and(eq(outbound.connectionId, connectionId), isAnyOf(outbound.messageId, messageIds)));
  return new Set(rows.flatMap(({ messageId }) => messageId ?? []));
}

interface WriteRow {
  readonly held: boolean;
  readonly done: boolean;
}

function toWriteResult([row]: readonly WriteRow[]): WriteResult {
  if (row === undefined || !row.held) return 'lost';
  return row.done ? 'done' : 'conflict';
}
