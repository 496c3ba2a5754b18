import { and, desc, eq, isNull, sql } from 'drizzle-orm';
import { union, unionAll } from 'drizzle-orm/pg-core';
import type { Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { changeBatches, changes, messages, outbound } from '../db/schema.ts';

/* What is stored about a message, for its trace. Times in epoch ms. */

/** The message with this id; the newest one if several connections have it. Null if there is none. */
export async function readTracedRow(db: Queryable, messageId: string) {
  const { connectionId, accountId, direction, status, statusConflict } = messages;
  const { firstSeenBy, firstSeenAt, createdAt } = messages;
  const state = { direction, status, statusConflict };
  const [row] = await orm(db)
    .select({ connectionId, accountId, ...state, firstSeenBy, firstSeenAt, createdAt })
    .from(messages)
    .where(and(eq(messages.id, messageId), eq(messages.erased, false)))
    .orderBy(desc(createdAt))
    .limit(1);
  return row ?? null;
}

/** The current row of a message. */
export type TracedRow = NonNullable<Awaited<ReturnType<typeof readTracedRow>>>;

/** The number of a change in the feed; null until it has one. */
const SEQ = sql<number | null>`${changeBatches.lastSeq} - ${changeBatches.size} + ${changes.position}`;

const CHANGE = {
  batch: changes.batch,
  position: changes.position,
  seq: SEQ,
  at: changes.at,
  type: sql<'message.created' | 'message.status' | 'message.updated'>`${changes.type}`,
  connectionId: changes.connectionId,
  source: changes.source,
  via: changes.via,
  status: changes.status,
  previous: changes.previousStatus,
};

/** A literal, so that the index of these changes is used. */
const BY_NO_DELIVERY = sql`(${changes.via} is not null or ${changes.source} <> 'webhook')`;

/**
 * The changes of a message in order: creation, status changes, new fields. `batches` are those that its kept
 * deliveries caused; changes caused by deliveries of dropped days are not found.
 */
export async function readMessageChanges(db: Queryable, messageId: string, batches: readonly number[]) {
  const ofBatch = and(eq(changeBatches.id, changes.batch), eq(changeBatches.changedAt, changes.at));
  // The change that made the message known is in a batch of exactly this time.
  const created = orm(db)
    .select(CHANGE)
    .from(messages)
    .innerJoin(changeBatches, eq(changeBatches.changedAt, messages.firstSeenAt))
    .innerJoin(
      changes,
      and(ofBatch, eq(changes.messageId, messages.id), eq(changes.connectionId, messages.connectionId)),
    )
    .where(and(eq(messages.id, messageId), BY_NO_DELIVERY, eq(changes.type, 'message.created')));
  const later = orm(db)
    .select(CHANGE)
    .from(changes)
    .leftJoin(changeBatches, ofBatch)
    .where(
      and(
        eq(changes.messageId, messageId),
        BY_NO_DELIVERY,
        sql`${changes.type} in ('message.status', 'message.updated')`,
      ),
    );
  const delivered = orm(db)
    .select(CHANGE)
    .from(changes)
    .leftJoin(changeBatches, ofBatch)
    .where(
      and(
        isAnyOf(changes.batch, batches),
        eq(changes.messageId, messageId),
        isNull(changes.via),
        eq(changes.source, 'webhook'),
      ),
    );
  return await unionAll(created, later, delivered).orderBy(changes.batch, changes.position).limit(1_000);
}

/** A change of a message as stored in the feed. */
export type MessageChangeRow = Awaited<ReturnType<typeof readMessageChanges>>[number];

const SEND_ID = sql<string>`${changes.data} ->> 'id'`;
/** A literal, so that the index of these changes is used. */
const OF_SEND = sql`${changes.type} = 'outbound.updated'`;

/** The newest `limit` steps of the sends of a message. */
export async function readSendChanges(
  db: Queryable,
  messageId: string,
  connectionId: string | null,
  limit: number,
) {
  // Only the final change names the message; all changes of a send name the send.
  const settled = orm(db)
    .select({ id: SEND_ID.as('send_id') })
    .from(changes)
    .where(and(eq(changes.messageId, messageId), BY_NO_DELIVERY, OF_SEND));
  const stored = orm(db)
    .select({ id: outbound.id })
    .from(outbound)
    .where(and(eq(outbound.messageId, messageId), eq(outbound.connectionId, connectionId ?? '')));
  const sends = union(settled, stored).as('sends');
  const { data, at } = changes;
  return await orm(db)
    .select({
      batch: changes.batch,
      seq: SEQ,
      at,
      connectionId: changes.connectionId,
      outboundId: SEND_ID,
      reference: sql<string | null>`${data} ->> 'reference'`,
      state: sql<string>`${data} ->> 'state'`,
      attempts: sql<number>`(${data} ->> 'attempts')::int`,
      errorCode: sql<string | null>`${data} ->> 'lastError'`,
      nextAttemptAt: sql<number | null>`(${data} ->> 'nextAttemptAt')::bigint`,
      /** Null if it had a different key then, or its row is gone. */
      idempotencyKey: sql<
        string | null
      >`case when ${outbound.firstAttemptAt} <= ${at} then ${outbound.idempotencyKey} end`,
    })
    .from(sends)
    .innerJoin(changes, and(sql`${SEND_ID} = ${sends.id}`, OF_SEND))
    .leftJoin(changeBatches, eq(changeBatches.id, changes.batch))
    .leftJoin(outbound, eq(outbound.id, sends.id))
    .orderBy(desc(at), desc(changes.batch))
    .limit(limit);
}

/** The state of a send after a change. */
export type SendChangeRow = Awaited<ReturnType<typeof readSendChanges>>[number];
