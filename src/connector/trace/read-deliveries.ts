import { and, desc, eq, getTableColumns, isNotNull, isNull, sql } from 'drizzle-orm';
import { type MessageStatus, messageStatus } from '../../contract/service/statuses.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { inbox } from '../db/inbox-table.ts';
import { connections } from '../db/schema.ts';
import { interpretBody } from '../inbox/interpret-body.ts';

const { body, messageId: _, ...SHORT } = getTableColumns(inbox);
const COLUMNS = {
  ...SHORT,
  body: sql<Uint8Array | null>`case when ${inbox.event} = 'message.status' then ${body} end`,
  owner: connections.accountId,
};

/** A delivery of the kept inbox. Times in epoch ms. */
export interface KeptDelivery extends Omit<typeof inbox.$inferSelect, 'body' | 'messageId'> {
  /** The account of the connection; null if unknown. */
  readonly owner: string | null;
  /** The status that it reports. */
  readonly status: MessageStatus | null;
}

/** The newest `limit` kept deliveries that changed a message, or that did not. */
export async function readDeliveries(
  db: Queryable,
  messageId: string,
  which: 'merged' | 'unchanged',
  limit: number,
): Promise<KeptDelivery[]> {
  const { changeBatch, receivedAt, id } = inbox;
  const rows = await orm(db)
    .select(COLUMNS)
    .from(inbox)
    .leftJoin(connections, eq(connections.connectionId, inbox.connectionId))
    .where(
      and(eq(inbox.messageId, messageId), which === 'merged' ? isNotNull(changeBatch) : isNull(changeBatch)),
    )
    // The order of the index. The planner does not recognize it without the batch, which is null where
    // nothing was changed.
    .orderBy(desc(changeBatch), desc(receivedAt), desc(id))
    .limit(limit);
  return rows.map(({ body: bytes, ...row }) => ({ ...row, status: bytes && readStatus(bytes, row) }));
}

function readStatus(
  bytes: Uint8Array,
  context: Pick<KeptDelivery, 'accountId' | 'signedAt'>,
): MessageStatus | null {
  const interpreted = interpretBody(Buffer.from(bytes), context);
  return interpreted.kind === 'message'
    ? (messageStatus.safeParse(interpreted.message.status).data ?? null)
    : null;
}
