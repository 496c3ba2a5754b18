import { sql } from 'drizzle-orm';
import { bigint, boolean, index, integer, jsonb, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core';
import type { ChangeType } from '../../contract/connector/changes.ts';
import type { MessageOrigin } from '../../contract/connector/messages.ts';
import { connectorSchema, epochMs } from './column-types.ts';
import { messageStatusEnum, messageTexts, type StoredCopy } from './message-tables.ts';

/** What caused a change. `media`: the worker that keeps files. */
export type ChangeSource = 'webhook' | 'poll' | 'send' | 'api' | 'media';

/**
 * What changed, for the CRM. The number of a change results from its batch and its position in it. Only
 * `write-changes.ts` writes rows, and only the erasure of a person updates them.
 */
export const changes = connectorSchema.table(
  'changes',
  {
    batch: bigint('batch', { mode: 'number' }).notNull(),
    /** Consecutive, from 1. */
    position: integer('position').notNull(),
    type: text('type').$type<ChangeType>().notNull(),
    /** When the statement made it, as in `changed_at` of the batch. The table is divided by it: see `time-partitions.ts`. */
    at: epochMs('at').notNull(),
    accountId: text('account_id').notNull(),
    connectionId: text('connection_id').notNull(),
    messageId: text('message_id'),
    source: text('source').$type<ChangeSource>().notNull(),
    /** For a change of a message without a delivery: the walk or the command. */
    via: text('via'),
    /** For a change of a message: the row after it; for a status change, only the two statuses. */
    status: messageStatusEnum('status'),
    previousStatus: messageStatusEnum('previous_status'),
    direction: text('direction').$type<'incoming' | 'outgoing'>(),
    ...messageTexts,
    mediaCopy: jsonb('media_copy').$type<StoredCopy>(),
    origin: text('origin').$type<MessageOrigin>(),
    createdAt: epochMs('created_at'),
    firstSeenBy: text('first_seen_by').$type<'webhook' | 'poll' | 'send'>(),
    /** Also for a status change. Null: an earlier version wrote it. */
    historic: boolean('historic'),
    /** For any other change. */
    data: jsonb('data'),
  },
  (table) => [
    primaryKey({ name: 'changes_pkey', columns: [table.batch, table.position, table.at] }),
    /**
     * For traces: changes without a delivery, and sends. A delivery in the inbox names its batch itself. How a
     * message became known is found by its time: a catch-up creates many messages, and an entry for each would
     * slow it down.
     */
    index('changes_message')
      .on(table.messageId)
      .where(
        sql`${table.messageId} is not null and ${table.type} <> 'message.created' and (${table.via} is not null or ${table.source} <> 'webhook')`,
      ),
    index('changes_outbound')
      .on(sql`(${table.data} ->> 'id')`)
      .where(sql`${table.type} = 'outbound.updated'`),
  ],
);

/**
 * The changes that one statement made. `connector.number_changes` gives committed batches rising numbers
 * in the order of `id`: those of a batch are the `size` numbers up to `last_seq`. Readers only see numbered
 * batches.
 */
export const changeBatches = connectorSchema.table(
  'change_batches',
  {
    /** Taken from `connector.change_batch_id` once every changed row is locked. */
    id: bigint('id', { mode: 'number' }).primaryKey(),
    size: integer('size').notNull(),
    /** When the statement made its changes. */
    changedAt: epochMs('changed_at').notNull(),
    lastSeq: bigint('last_seq', { mode: 'number' }),
  },
  (table) => [
    uniqueIndex('change_batches_seq').on(table.lastSeq).where(sql`${table.lastSeq} is not null`),
    index('change_batches_changed_at').on(table.changedAt),
    index('change_batches_unnumbered').on(table.id).where(sql`${table.lastSeq} is null`),
  ],
);

/**
 * One row: the id of the feed, where its numbers begin, and the period of new messages. It is not written when changes are numbered: the last number
 * is that of the newest numbered batch, or `base_seq` before the first (`connector.last_seq()`). Numbers rise; they jump
 * by a multiple of 2^32 when the database was promoted or restored, because some of them may have been read and lost.
 */
export const feed = connectorSchema.table('feed', {
  only: boolean('only').primaryKey().default(true),
  /**
   * Numbers start again in an empty database. Readers detect this by the id, and it is part of every key of
   * dispatch.
   */
  id: text('id').notNull().default(sql`left(md5(random()::text), 12)`),
  /** Numbers are above this one. At first 0; then the number to which they jumped last. */
  baseSeq: bigint('base_seq', { mode: 'number' }).notNull(),
  /** Changes up to this number may have been deleted: see `deleteOldChanges`. */
  deletedSeq: bigint('deleted_seq', { mode: 'number' }).notNull().default(0),
  /** When the present period of messages began, epoch ms; 0: there was no other. */
  messagesFrom: epochMs('messages_from').notNull().default(0),
  /** The database that numbers from there: system identifier, OID and timeline. Null before the first number. */
  cluster: text('cluster'),
});
