import type { MessageStatus } from '../../contract/service/statuses.ts';
import { messageStatus } from '../../contract/service/statuses.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { DeliveryOutcome } from '../db/batch.ts';
import { interpretBody } from '../inbox/interpret-body.ts';

/** A delivery of the kept inbox. Times in epoch ms. */
export interface KeptDelivery {
  readonly id: number;
  readonly receivedAt: number;
  readonly signedAt: number;
  readonly subscriptionId: string;
  readonly accountId: string;
  readonly connectionId: string | null;
  readonly event: string | null;
  /** The status that it tells. */
  readonly status: MessageStatus | null;
  readonly outcome: DeliveryOutcome;
  readonly reason: string | null;
  /** Bits of `CHANGE`. */
  readonly changeMask: number;
  readonly changeBatch: number | null;
  readonly secretVersion: number | null;
}

interface Row extends Omit<KeptDelivery, 'status'> {
  readonly body: Uint8Array | null;
}

/** A status event has some 200 bytes. Of a larger one the body is read by itself, so that a page stays small. */
const USUAL_BYTES = 8_192;

const COLUMNS = `i.id, i.received_at as "receivedAt", i.signed_at as "signedAt", i.subscription_id as "subscriptionId",
  i.account_id as "accountId", i.connection_id as "connectionId", i.event, i.outcome, i.reason,
  i.change_mask as "changeMask", i.change_batch as "changeBatch", i.secret_version as "secretVersion"`;

const SELECT = `
  select ${COLUMNS},
         case when i.event = 'message.status' and octet_length(i.body) <= ${USUAL_BYTES} then i.body end as body
    from connector.inbox i`;

// A message is created once and changes a few times: these are few, whatever the number of its copies.
const MERGED = `${SELECT} where i.message_id = $1 and i.change_batch is not null
   order by i.change_batch, i.received_at, i.id limit 1000`;

// Ordered as the index is, which the planner would not see without the batch that all of them lack.
const UNCHANGED = `${SELECT}
   where i.message_id = $1 and i.change_batch is null and i.received_at >= $2::bigint
     and (i.received_at > $2 or i.id > $3::bigint)
   order by i.change_batch, i.received_at, i.id limit $4::integer`;

/** The kept deliveries that changed a message. */
export async function readMerged(db: Queryable, messageId: string): Promise<KeptDelivery[]> {
  return await withStatuses(db, messageId, await db.query<Row>(MERGED, [messageId]));
}

/** Up to `limit` kept deliveries after a place that changed nothing of the message, in the order of their receipt. */
export async function readUnchanged(
  db: Queryable,
  messageId: string,
  after: { readonly at: number; readonly id: number },
  limit: number,
): Promise<KeptDelivery[]> {
  const rows = await db.query<Row>(UNCHANGED, [messageId, after.at, after.id, limit]);
  return await withStatuses(db, messageId, rows);
}

async function withStatuses(db: Queryable, messageId: string, rows: readonly Row[]): Promise<KeptDelivery[]> {
  const deliveries: KeptDelivery[] = [];
  for (const { body, ...row } of rows) {
    const told = row.event === 'message.status' ? (body ?? (await readBody(db, messageId, row))) : null;
    deliveries.push({ ...row, status: told === null ? null : readStatus(told, row) });
  }
  return deliveries;
}

async function readBody(
  db: Queryable,
  messageId: string,
  { receivedAt, id }: Pick<Row, 'receivedAt' | 'id'>,
): Promise<Uint8Array | null> {
  const [row] = await db.query<{ body: Uint8Array }>(
    'select body from connector.inbox where message_id = $1 and received_at = $2::bigint and id = $3::bigint',
    [messageId, receivedAt, id],
  );
  return row?.body ?? null;
}

function readStatus(body: Uint8Array, context: Pick<Row, 'accountId' | 'signedAt'>): MessageStatus | null {
  const told = interpretBody(Buffer.from(body), context);
  return told.kind === 'message' ? (messageStatus.safeParse(told.message.status).data ?? null) : null;
}
