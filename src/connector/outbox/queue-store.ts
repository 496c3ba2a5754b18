import { and, eq, gt } from 'drizzle-orm';
import type { OutboundState } from '../../contract/connector/outbound.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { commitBatch } from '../db/commit-batch.ts';
import type { MessageFacts } from '../db/facts.ts';
import { selectList } from '../db/input-columns.ts';
import { heldLease, type Lease } from '../db/lease.ts';
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
  inDoubt: outbound.inDoubt,
};

/** A send as its queue sees it. Times in epoch ms. `attemptId`: the attempt in progress, or one whose process died. */
export type QueuedSend = StoredOutbound &
  Readonly<Pick<typeof outbound.$inferSelect, keyof typeof QUEUE_COLUMNS>>;

/** The first send of a queue, and when it is due; null: at once. */
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
 * SQL: the row of the first unfinished send of a queue; no row if the queue is empty. Takes SQL expressions. The
 * sends up to `above` are known to have finished.
 */
export function nextSend(connectionId: string, above: string): string {
  return `(
    SELECT n.* FROM connector.outbound n
     WHERE n.connection_id = ${connectionId} AND n.state IN ${UNFINISHED} AND n.position > ${above}
     ORDER BY n.position LIMIT 1)`;
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
       FROM ${nextSend('$1', '$3::bigint')} o`,
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
         first_attempt_at = least(o.first_attempt_at, $3::bigint), last_attempt_at = $3::bigint,
         next_attempt_at = NULL, updated_at = $3::bigint
   WHERE o.id = $4 AND o.state = 'queued' AND EXISTS (SELECT FROM guard)
  RETURNING o.*
),
${writeSendChanges('begun', 'send', '$3::bigint')}
SELECT EXISTS (SELECT FROM guard) AS held, EXISTS (SELECT FROM begun) AS done`;

/** Commits the start of an attempt. The first one was no later than this one, whatever the clock of its process said. */
export async function beginAttempt(
  db: Queryable,
  lease: Lease,
  attempt: { readonly outboundId: string; readonly attemptId: string; readonly now: number },
): Promise<WriteResult> {
  const { outboundId, attemptId, now } = attempt;
  const params = [lease.name, lease.fence, now, outboundId, attemptId];
  return toWriteResult(await db.query<WriteRow>(BEGIN, params));
}

/** The state of a send after an attempt. */
export interface SendUpdate {
  readonly outboundId: string;
  /** The attempt that has ended; null if none was made. */
  readonly attemptId: string | null;
  readonly state: Exclude<OutboundState, 'cancelled'>;
  readonly messageId: string | null;
  readonly lastError: string | null;
  readonly nextAttemptAt: number | null;
  /** The wait ends early when the service answers the account. */
  readonly awaitsService: boolean;
  readonly inDoubt: boolean;
  /** The send waits as if it had never been attempted: the 23 hours have not begun. */
  readonly resetsFirstAttempt: boolean;
}

const UPDATE = `
WITH guard AS (${heldLease('$1', '$2')}),
updated AS (
  UPDATE connector.outbound o
     SET state = $6, message_id = $7, last_error = coalesce($8, o.last_error), next_attempt_at = $9::bigint,
         in_doubt = $10::boolean, awaits_service = $11::boolean, attempt_id = NULL,
         first_attempt_at = CASE WHEN $12::boolean THEN NULL ELSE o.first_attempt_at END, updated_at = $3::bigint
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
 * the lease was lost, unless the send was erased; the state of the send only with the lease.
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
    update.inDoubt,
    update.awaitsService,
    update.resetsFirstAttempt,
  ];
  if (message === undefined) return toWriteResult(await database.query<WriteRow>(UPDATE, params));
  return await database.transaction(async (tx) => {
    // Locked, so that an erasure of its person sees the message, or is seen.
    const known = await tx.query('SELECT FROM connector.outbound WHERE id = $1 FOR UPDATE', [
      update.outboundId,
    ]);
    if (known.length === 0) return 'conflict';
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

interface WriteRow {
  readonly held: boolean;
  readonly done: boolean;
}

function toWriteResult([row]: readonly WriteRow[]): WriteResult {
  if (row === undefined || !row.held) return 'lost';
  return row.done ? 'done' : 'conflict';
}
