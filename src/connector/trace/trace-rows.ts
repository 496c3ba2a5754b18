import type { FirstSeenBy } from '../../contract/connector/messages.ts';
import type { Direction, MessageStatus } from '../../contract/service/statuses.ts';
import type { Queryable } from '../../runtime/database/database.ts';

/* What is stored of a message, for its trace. Times in epoch ms. */

/** A message as it stands. */
export interface TracedRow {
  readonly connectionId: string;
  readonly accountId: string;
  readonly direction: Direction;
  readonly status: MessageStatus | null;
  readonly statusConflict: boolean;
  readonly firstSeenBy: FirstSeenBy;
  readonly firstSeenAt: number;
  readonly createdAt: number;
}

/** The message with this id; the newest if connections share it. Null: none. */
export async function readTracedRow(db: Queryable, messageId: string): Promise<TracedRow | null> {
  const [row] = await db.query<TracedRow>(
    `select connection_id as "connectionId", account_id as "accountId", direction, status,
            status_conflict as "statusConflict", first_seen_by as "firstSeenBy", first_seen_at as "firstSeenAt",
            created_at as "createdAt"
       from connector.messages where id = $1 order by created_at desc limit 1`,
    [messageId],
  );
  return row ?? null;
}

/** A change of a message as the feed keeps it. */
export interface MessageChangeRow {
  readonly batch: number;
  /** Its number in the feed; null as long as it has none. */
  readonly seq: number | null;
  readonly at: number;
  readonly type: 'message.created' | 'message.status' | 'message.updated';
  readonly connectionId: string;
  readonly source: 'webhook' | 'poll' | 'send';
  readonly via: string | null;
  readonly status: MessageStatus | null;
  readonly previous: MessageStatus | null;
}

const CHANGE = `c.batch, b.last_seq - b.size + c.position as seq, c.position, c.at, c.type,
  c.connection_id as "connectionId", c.source, c.via, c.status, c.previous_status as previous`;

// What no delivery brought is found by its message, the rest by the batches that deliveries name. That the message
// became known stands in a batch of the very time.
const CHANGES = `
  select ${CHANGE}
    from connector.messages m
    join connector.change_batches b on b.told_at = m.first_seen_at
    join connector.changes c on c.batch = b.id and c.message_id = m.id and c.connection_id = m.connection_id
   where m.id = $1 and (c.via is not null or c.source <> 'webhook') and c.type = 'message.created'
  union all
  select ${CHANGE}
    from connector.changes c left join connector.change_batches b on b.id = c.batch
   where c.message_id = $1 and (c.via is not null or c.source <> 'webhook')
     and c.type in ('message.status', 'message.updated')
  union all
  select ${CHANGE}
    from connector.changes c left join connector.change_batches b on b.id = c.batch
   where c.batch = any($2::bigint[]) and c.message_id = $1 and c.via is null and c.source = 'webhook'
  order by batch, position limit 1000`;

/**
 * The changes of a message in their order: it is created once, its status rises, its fields fill up. `batches` are
 * those that its kept deliveries made; what deliveries made whose days were dropped is not found.
 */
export async function readMessageChanges(
  db: Queryable,
  messageId: string,
  batches: readonly number[],
): Promise<MessageChangeRow[]> {
  return await db.query<MessageChangeRow>(CHANGES, [messageId, batches]);
}

/** How a send stood after a change. */
export interface SendChangeRow {
  readonly batch: number;
  readonly seq: number | null;
  readonly at: number;
  readonly connectionId: string;
  readonly outboundId: string;
  readonly reference: string | null;
  readonly state: string;
  readonly attempts: number;
  readonly errorCode: string | null;
  readonly nextAttemptAt: number | null;
  /** Null when it had another key then, or its row is gone. */
  readonly idempotencyKey: string | null;
}

/** A place among the entries of a trace: see `place.ts`. */
export interface After {
  readonly at: number;
  readonly batch: number;
}

// The settled change names the message, all changes of a send name the send.
const SENDS = `
  with sends as (
    select c.data ->> 'id' as id from connector.changes c
     where c.message_id = $1 and (c.via is not null or c.source <> 'webhook') and c.type = 'outbound.updated'
    union
    select o.id from connector.outbound o where o.message_id = $1 and o.connection_id = $2
  )
  select c.batch, b.last_seq - b.size + c.position as seq, c.at, c.connection_id as "connectionId",
         c.data ->> 'id' as "outboundId", c.data ->> 'reference' as reference, c.data ->> 'state' as state,
         (c.data ->> 'attempts')::int as attempts, c.data ->> 'lastError' as "errorCode",
         (c.data ->> 'nextAttemptAt')::bigint as "nextAttemptAt",
         case when o.first_attempt_at <= c.at then o.idempotency_key end as "idempotencyKey"
    from sends s
    join connector.changes c on c.data ->> 'id' = s.id and c.type = 'outbound.updated'
    left join connector.change_batches b on b.id = c.batch
    left join connector.outbound o on o.id = s.id
   where (c.at, c.batch) > ($3::bigint, $4::bigint)
   order by c.at, c.batch limit $5::integer`;

/** How the sends behind a message went, up to `limit` steps after a place. */
export async function readSendChanges(
  db: Queryable,
  messageId: string,
  connectionId: string | null,
  after: After,
  limit: number,
): Promise<SendChangeRow[]> {
  return await db.query<SendChangeRow>(SENDS, [messageId, connectionId, after.at, after.batch, limit]);
}

/** The account that a connection belongs to. */
export async function readOwners(
  db: Queryable,
  connectionIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await db.query<{ id: string; accountId: string }>(
    'select connection_id as id, account_id as "accountId" from connector.connections where connection_id = any($1::text[])',
    [connectionIds],
  );
  return new Map(rows.map((row) => [row.id, row.accountId]));
}
