import { and, eq, getTableColumns, gt, gte, isNotNull, isNull, or, sql } from 'drizzle-orm';
import type { MessageStatus } from '../../contract/service/statuses.ts';
import { messageStatus } from '../../contract/service/statuses.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { inbox } from '../db/inbox-table.ts';
import { interpretBody } from '../inbox/interpret-body.ts';

/**
 * A status event has about 200 bytes. The body of a larger delivery is read separately, so that a page stays
 * small.
 */
const USUAL_BYTES = 8_192;

const { body, messageId: _, ...SHORT } = getTableColumns(inbox);
const COLUMNS = {
  ...SHORT,
  body: sql<Uint8Array | null>`case when ${inbox.event} = 'message.status' and octet_length(${body}) <= ${USUAL_BYTES} then ${body} end`,
};

/** A delivery of the kept inbox. Times in epoch ms. */
export interface KeptDelivery extends Omit<typeof inbox.$inferSelect, 'body' | 'messageId'> {
  /** The status that it reports. */
  readonly status: MessageStatus | null;
}

/** Maximum number of deliveries that change one message: it is created once and changes a few times. */
const MAX_MERGED = 1_000;

/** The kept deliveries that changed a message. */
export async function readMerged(db: Queryable, messageId: string): Promise<KeptDelivery[]> {
  const { changeBatch, receivedAt, id } = inbox;
  const rows = await orm(db)
    .select(COLUMNS)
    .from(inbox)
    .where(and(eq(inbox.messageId, messageId), isNotNull(changeBatch)))
    .orderBy(changeBatch, receivedAt, id)
    .limit(MAX_MERGED);
  return await withStatuses(db, messageId, rows);
}

/** Up to `limit` kept deliveries after a place that did not change the message, in order of receipt. */
export async function readUnchanged(
  db: Queryable,
  messageId: string,
  after: { readonly at: number; readonly id: number },
  limit: number,
): Promise<KeptDelivery[]> {
  const { changeBatch, receivedAt, id } = inbox;
  const isAfter = and(gte(receivedAt, after.at), or(gt(receivedAt, after.at), gt(id, after.id)));
  const rows = await orm(db)
    .select(COLUMNS)
    .from(inbox)
    .where(and(eq(inbox.messageId, messageId), isNull(changeBatch), isAfter))
    // In the order of the index. The planner does not recognize it without the batch, which is null in all of
    // these rows.
    .orderBy(changeBatch, receivedAt, id)
    .limit(limit);
  return await withStatuses(db, messageId, rows);
}

async function withStatuses(
  db: Queryable,
  messageId: string,
  rows: readonly (Omit<KeptDelivery, 'status'> & { readonly body: Uint8Array | null })[],
): Promise<KeptDelivery[]> {
  const deliveries: KeptDelivery[] = [];
  for (const { body, ...row } of rows) {
    const reported = row.event === 'message.status' ? (body ?? (await readBody(db, messageId, row))) : null;
    deliveries.push({ ...row, status: reported === null ? null : readStatus(reported, row) });
  }
  return deliveries;
}

async function readBody(
  db: Queryable,
  messageId: string,
  { receivedAt, id }: Pick<KeptDelivery, 'receivedAt' | 'id'>,
): Promise<Uint8Array | null> {
  const [row] = await orm(db)
    .select({ body: inbox.body })
    .from(inbox)
    .where(and(eq(inbox.messageId, messageId), eq(inbox.receivedAt, receivedAt), eq(inbox.id, id)));
  return row?.body ?? null;
}

function readStatus(
  body: Uint8Array,
  context: Pick<KeptDelivery, 'accountId' | 'signedAt'>,
): MessageStatus | null {
  const interpreted = interpretBody(Buffer.from(body), context);
  return interpreted.kind === 'message'
    ? (messageStatus.safeParse(interpreted.message.status).data ?? null)
    : null;
}
