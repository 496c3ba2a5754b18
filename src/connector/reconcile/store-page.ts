import { DELIVERY_MAX_MS } from '../../contract/service/limits.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { type BatchResult, commitBatch } from '../db/commit-batch.ts';
import { CHANGE, eachText, type MessageFacts, type MessageTexts, WEBHOOK_SEEN } from '../db/facts.ts';
import { heldLease, type Lease } from '../db/lease.ts';
import type { PolledMessage } from '../service-client/service-client.ts';
import type { PollContext } from './poll-context.ts';
import { PROGRESS_CTES, PROGRESS_PARAMS, type ProgressChange, progressParams } from './progress.ts';

/** A delivery that has not arrived by then will not arrive: all attempts are over. Includes a margin. */
export const JUDGED_AFTER_MS = DELIVERY_MAX_MS + 8_500;
const MAX_CONCURRENT = 1_000;

/** The bit of `WEBHOOK_SEEN` for the status of the row `m`. */
const STATUS_BIT = `CASE m.status WHEN 'sent' THEN ${WEBHOOK_SEEN.sent} WHEN 'delivered' THEN ${WEBHOOK_SEEN.delivered}
  WHEN 'read' THEN ${WEBHOOK_SEEN.read} WHEN 'failed' THEN ${WEBHOOK_SEEN.failed} END`;

/**
 * The CTE that stores what a polled page contained before any webhook delivered it: an incoming message, or the
 * status of an outgoing one, of a licensed `qr` connection, created after the registration. It is judged later.
 * Reads `merged` and `guard`; `first` is the number of its first parameter.
 */
export function notedRepairs(first: number): string {
  return `
noted_repairs AS (
  INSERT INTO connector.repairs (connection_id, message_id, what, account_id, observed_at)
  SELECT m.connection_id, m.id, CASE m.direction WHEN 'incoming' THEN ${WEBHOOK_SEEN.received} ELSE ${STATUS_BIT} END,
         $${first}::text, $${first + 1}::bigint
    FROM merged m
    JOIN connector.connections c
      ON c.connection_id = m.connection_id AND c.provider = 'qr' AND c.license_valid IS DISTINCT FROM false
   WHERE m.created_at >= $${first + 2}::bigint AND EXISTS (SELECT FROM guard)
     AND CASE m.direction WHEN 'incoming' THEN m.change_mask & ${CHANGE.created} <> 0
                          WHEN 'outgoing' THEN m.change_mask & ${CHANGE.status} <> 0 END
  ON CONFLICT (connection_id, message_id, what) DO NOTHING
)`;
}

/** Result of the judgement: what polling repaired, and what webhooks delivered late. */
export interface Judgement {
  readonly messages: number;
  readonly statuses: number;
  readonly late: number;
}

/**
 * True if a webhook has delivered for the message `m` what the row `r` describes. A higher status includes the
 * lower ones.
 */
export const CAME = `CASE r.what
  WHEN ${WEBHOOK_SEEN.sent} THEN m.webhook_seen & ${WEBHOOK_SEEN.sent | WEBHOOK_SEEN.delivered | WEBHOOK_SEEN.read | WEBHOOK_SEEN.failed} <> 0
  WHEN ${WEBHOOK_SEEN.delivered} THEN m.webhook_seen & ${WEBHOOK_SEEN.delivered | WEBHOOK_SEEN.read | WEBHOOK_SEEN.failed} <> 0
  ELSE m.webhook_seen & r.what <> 0 END`;

const JUDGE = `
WITH guard AS (${heldLease('$1', '$2')}),
due AS (
  SELECT r.connection_id, r.message_id, r.what, r.account_id, coalesce(${CAME}, false) AS came
    FROM connector.repairs r
    LEFT JOIN connector.messages m ON m.connection_id = r.connection_id AND m.id = r.message_id
   WHERE r.account_id = $3 AND r.observed_at <= $4::bigint AND EXISTS (SELECT FROM guard)
   ORDER BY r.observed_at LIMIT ${MAX_CONCURRENT}
),
judged AS (
  DELETE FROM connector.repairs r USING due d
   WHERE r.connection_id = d.connection_id AND r.message_id = d.message_id AND r.what = d.what
  RETURNING d.connection_id, d.account_id, d.what, d.came
),
counted AS (
  INSERT INTO connector.repair_totals AS t (connection_id, account_id, messages, statuses, last_at)
  SELECT j.connection_id, j.account_id, count(*) FILTER (WHERE j.what = ${WEBHOOK_SEEN.received}),
         count(*) FILTER (WHERE j.what <> ${WEBHOOK_SEEN.received}), $5::bigint
    FROM judged j WHERE NOT j.came GROUP BY j.connection_id, j.account_id ORDER BY j.connection_id
  ON CONFLICT (connection_id) DO UPDATE
     SET messages = t.messages + excluded.messages, statuses = t.statuses + excluded.statuses,
         last_at = excluded.last_at
)
SELECT count(*) FILTER (WHERE NOT came AND what = ${WEBHOOK_SEEN.received}) AS messages,
       count(*) FILTER (WHERE NOT came AND what <> ${WEBHOOK_SEEN.received}) AS statuses,
       count(*) FILTER (WHERE came) AS late
  FROM judged`;

/**
 * Judges, under the lease, what was stored before the last attempt of its delivery was over.
 * [delivery.attempts]
 */
export async function judgeRepairs(
  db: Queryable,
  lease: Lease,
  accountId: string,
  now: number,
): Promise<Judgement> {
  const total = { messages: 0, statuses: 0, late: 0 };
  for (;;) {
    const params = [lease.name, lease.fence, accountId, now - JUDGED_AFTER_MS, now];
    const [found = { messages: 0, statuses: 0, late: 0 }] = await db.query<Judgement>(JUDGE, params);
    total.messages += found.messages;
    total.statuses += found.statuses;
    total.late += found.late;
    if (found.messages + found.statuses + found.late < MAX_CONCURRENT) return total;
  }
}

const CTES = `${PROGRESS_CTES},${notedRepairs(PROGRESS_PARAMS + 1)}`;

/**
 * Merges the messages of a page and stores the progress in one statement, under the lease. A crash leaves both
 * or neither. `applied` is false if another process polls this account now.
 */
export async function storePage(
  { database, clock, lease, accountId, registeredAt }: PollContext,
  messages: readonly PolledMessage[],
  change: ProgressChange,
): Promise<BatchResult> {
  const now = clock.now();
  return await commitBatch(database, {
    now,
    messages: messages.map((message) => toFacts(accountId, message, now)),
    via: nameWalk(change),
    fence: { lease: lease.name, fence: lease.fence },
    also: {
      ctes: CTES,
      params: [...progressParams(accountId, now, change), accountId, now, registeredAt],
    },
  });
}

/** How a trace names the walk that read a page. */
function nameWalk({ kind, saved, closed }: ProgressChange): string {
  const slot = saved[0]?.slot ?? closed[0];
  return kind === 'sweep' && slot !== undefined ? `sweep:${slot}` : kind;
}

/**
 * The status ladder only applies to outgoing messages; a status that the service shows for an incoming one is
 * ignored.
 */
function toFacts(accountId: string, message: PolledMessage, now: number): MessageFacts {
  const reported: Partial<MessageTexts> = message;
  return {
    connectionId: message.connectionId,
    messageId: message.id,
    accountId,
    source: 'poll',
    direction: message.direction,
    ...eachText((name) => reported[name] ?? null),
    status: message.direction === 'outgoing' ? message.status : null,
    createdAt: Number.isNaN(message.createdAt) ? now : message.createdAt,
    webhookSeen: 0,
    certain: message.certain,
  };
}
