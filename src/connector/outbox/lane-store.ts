import type { OutboundState } from '../../contract/connector/outbound.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { commitBatch } from '../db/commit-batch.ts';
import type { MessageFacts } from '../db/facts.ts';
import { heldLease, type Lease } from '../leases/lease.ts';
import { tellOutbound } from './stored-outbound.ts';

/** The kind of lease under which a lane is sent, by connection. */
export const SEND = 'send';

/** A send as its lane sees it. Times in epoch ms. */
export interface LaneSend {
  readonly id: string;
  readonly accountId: string;
  readonly connectionId: string;
  readonly to: string;
  readonly text: string | null;
  readonly mediaFilename: string | null;
  readonly mediaMimetype: string | null;
  readonly mediaCaption: string | null;
  readonly mediaFingerprint: string | null;
  readonly idempotencyKey: string;
  readonly state: OutboundState;
  readonly attempts: number;
  /** The attempt under way, or one whose process is gone. Null while `sending`: it is being looked up. */
  readonly attemptId: string | null;
  readonly firstAttemptAt: number | null;
  readonly lastAttemptAt: number | null;
  readonly lostAt: number | null;
  readonly inDoubt: boolean;
  readonly nextAttemptAt: number | null;
}

const COLUMNS = `o.id, o.account_id as "accountId", o.connection_id as "connectionId", o.recipient as "to",
  o.text, o.media_filename as "mediaFilename", o.media_mimetype as "mediaMimetype",
  o.media_caption as "mediaCaption", o.media_fingerprint as "mediaFingerprint", o.idempotency_key as "idempotencyKey",
  o.state, o.attempts, o.attempt_id as "attemptId", o.first_attempt_at as "firstAttemptAt",
  o.last_attempt_at as "lastAttemptAt", o.lost_at as "lostAt", o.in_doubt as "inDoubt",
  o.next_attempt_at as "nextAttemptAt"`;

/** The send whose turn it is; null when the lane is empty. */
export async function readHead(db: Queryable, connectionId: string): Promise<LaneSend | null> {
  const [head] = await db.query<LaneSend>(
    `select ${COLUMNS} from connector.outbound o
      where o.connection_id = $1 and o.state in ('queued', 'sending') order by o.position limit 1`,
    [connectionId],
  );
  return head ?? null;
}

/** The bytes of a send's file. */
export async function readFile(db: Queryable, outboundId: string): Promise<Uint8Array | null> {
  const [row] = await db.query<{ bytes: Uint8Array }>(
    'select bytes from connector.outbound_media where outbound_id = $1',
    [outboundId],
    { deadlineMs: 30_000 },
  );
  return row?.bytes ?? null;
}

/** What became of a write: `lost` when another process has the lane by now, `missed` when the row had changed. */
export type Written = 'done' | 'missed' | 'lost';

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
${tellOutbound('begun', 'send', '$3::bigint')}
SELECT EXISTS (SELECT FROM guard) AS held, EXISTS (SELECT FROM begun) AS done`;

/** Commits that an attempt begins. */
export async function beginAttempt(
  db: Queryable,
  lease: Lease,
  attempt: { readonly outboundId: string; readonly attemptId: string; readonly now: number },
): Promise<Written> {
  const { outboundId, attemptId, now } = attempt;
  const params = [lease.name, lease.fence, now, outboundId, attemptId];
  return readWritten(await db.query<WrittenRow>(BEGIN, params));
}

/** How a send stands after an attempt or a look-up. */
export interface Settlement {
  readonly outboundId: string;
  /** The attempt that is settled; null: one that was being looked up. */
  readonly attemptId: string | null;
  readonly state: OutboundState;
  readonly messageId: string | null;
  readonly lastError: string | null;
  readonly nextAttemptAt: number | null;
  /** The wait ends sooner when the service answers the account. */
  readonly awaitsService: boolean;
  readonly lostAt: number | null;
  readonly inDoubt: boolean;
  /** It waits as if it had never been attempted: its time has not begun. */
  readonly startsAnew: boolean;
}

const SETTLE = `
WITH guard AS (${heldLease('$1', '$2')}),
settled AS (
  UPDATE connector.outbound o
     SET state = $6, message_id = $7, last_error = coalesce($8, o.last_error), next_attempt_at = $9::bigint,
         lost_at = $10::bigint, in_doubt = $11::boolean, awaits_service = $12::boolean, attempt_id = NULL,
         first_attempt_at = CASE WHEN $13::boolean THEN NULL ELSE o.first_attempt_at END, updated_at = $3::bigint
   WHERE o.id = $4 AND o.attempt_id IS NOT DISTINCT FROM $5 AND o.state IN ('sending', 'queued')
     AND EXISTS (SELECT FROM guard)
  RETURNING o.*
),
emptied AS (
  DELETE FROM connector.outbound_media f USING settled s
   WHERE f.outbound_id = s.id AND s.state IN ('sent', 'delivered_not_stored')
),
${tellOutbound('settled', 'send', '$3::bigint')}
SELECT EXISTS (SELECT FROM guard) AS held, EXISTS (SELECT FROM settled) AS done`;

/**
 * Commits how a send stands, together with the message that it became. The message is true whoever has the lane
 * by now; how the send stands is for the holder of the lane to say.
 */
export async function settleSend(
  database: Database,
  lease: Lease,
  settlement: Settlement,
  now: number,
  message?: MessageFacts,
): Promise<Written> {
  const params = [
    lease.name,
    lease.fence,
    now,
    settlement.outboundId,
    settlement.attemptId,
    settlement.state,
    settlement.messageId,
    settlement.lastError,
    settlement.nextAttemptAt,
    settlement.lostAt,
    settlement.inDoubt,
    settlement.awaitsService,
    settlement.startsAnew,
  ];
  if (message === undefined) return readWritten(await database.query<WrittenRow>(SETTLE, params));
  return await database.transaction(async (tx) => {
    await commitBatch(tx, { now, messages: [message] });
    return readWritten(await tx.query<WrittenRow>(SETTLE, params));
  });
}

/**
 * Ends the waits of an account's sends that were for the service to come back, and resolves with the lanes that have
 * something due by that. What the service asked to wait for is waited for.
 */
export async function endWaits(db: Queryable, accountId: string, now: number): Promise<readonly string[]> {
  const rows = await db.query<{ connectionId: string }>(
    `with ended as (
       update connector.outbound set next_attempt_at = $2::bigint
        where account_id = $1 and state = 'queued' and awaits_service and next_attempt_at > $2::bigint
       returning connection_id)
     select distinct connection_id as "connectionId" from ended`,
    [accountId, now],
  );
  return rows.map((row) => row.connectionId);
}

/** Says when a send is looked up next. Tells nobody. */
export async function lookAgainAt(
  db: Queryable,
  lease: Lease,
  outboundId: string,
  at: number,
): Promise<void> {
  await db.query(
    `update connector.outbound set next_attempt_at = $4::bigint
      where id = $3 and state = 'sending' and attempt_id is null
        and exists (${heldLease('$1', '$2')})`,
    [lease.name, lease.fence, outboundId, at],
  );
}

/** Which of these messages are the outcome of a send already. */
export async function readClaimed(
  db: Queryable,
  connectionId: string,
  messageIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await db.query<{ messageId: string }>(
    `select message_id as "messageId" from connector.outbound
      where connection_id = $1 and message_id = any($2::text[])`,
    [connectionId, messageIds],
  );
  return new Set(rows.map((row) => row.messageId));
}

interface WrittenRow {
  readonly held: boolean;
  readonly done: boolean;
}

function readWritten([row]: readonly WrittenRow[]): Written {
  if (row === undefined || !row.held) return 'lost';
  return row.done ? 'done' : 'missed';
}
