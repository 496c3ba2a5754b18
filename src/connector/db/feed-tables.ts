import { sql } from 'drizzle-orm';
import { bigint, boolean, index, integer, jsonb, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core';
import type { ChangeType } from '../../contract/connector/changes.ts';
import { connectorSchema, epochMs } from './connector-schema.ts';
import { messageStatusEnum } from './message-tables.ts';

/**
 * What changed, for the CRM. Rows are written once and never again: a change's number is that of its batch and
 * its position there. See `tell-changes.ts`, the only way in.
 */
export const changes = connectorSchema.table(
  'changes',
  {
    batch: bigint('batch', { mode: 'number' }).notNull(),
    /** From 1 on, without a gap. */
    position: integer('position').notNull(),
    type: text('type').$type<ChangeType>().notNull(),
    at: epochMs('at').notNull(),
    accountId: text('account_id').notNull(),
    connectionId: text('connection_id').notNull(),
    messageId: text('message_id'),
    source: text('source').$type<'webhook' | 'poll' | 'send' | 'api'>().notNull(),
    /** Of a change of a message that no delivery brought: the walk or the command that did. */
    via: text('via'),
    /** Of a change of a message: the row after it; of a status change, the two statuses alone. */
    status: messageStatusEnum('status'),
    previousStatus: messageStatusEnum('previous_status'),
    direction: text('direction').$type<'incoming' | 'outgoing'>(),
    peer: text('peer'),
    text: text('text'),
    mediaUrl: text('media_url'),
    mediaType: text('media_type'),
    errorMessage: text('error_message'),
    createdAt: epochMs('created_at'),
    firstSeenBy: text('first_seen_by').$type<'webhook' | 'poll' | 'send'>(),
    /** Of any other change. */
    data: jsonb('data'),
  },
  (table) => [
    primaryKey({ name: 'changes_pkey', columns: [table.batch, table.position] }),
    /**
     * For traces: what no delivery brought, and the sends. A delivery in the inbox names its batch itself, and how a
     * message became known is found by the time: a catch-up brings many, and here each would make it dearer.
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
 * The changes that one statement made together. `connector.number_changes` gives committed batches their
 * numbers, without a gap and in the order of `id`: those of a batch are the `size` numbers up to `last_seq`.
 * Readers see numbered batches only.
 */
export const changeBatches = connectorSchema.table(
  'change_batches',
  {
    /** Taken from `connector.change_batch_id` once every changed row is locked. */
    id: bigint('id', { mode: 'number' }).primaryKey(),
    size: integer('size').notNull(),
    /** The time of its changes. */
    toldAt: epochMs('told_at').notNull(),
    lastSeq: bigint('last_seq', { mode: 'number' }),
  },
  (table) => [
    uniqueIndex('change_batches_seq').on(table.lastSeq).where(sql`${table.lastSeq} is not null`),
    index('change_batches_told').on(table.toldAt),
    index('change_batches_unnumbered').on(table.id).where(sql`${table.lastSeq} is null`),
  ],
);

/** One row: the feed's name and the last number given. Its row lock is what makes numbering one at a time. */
export const feed = connectorSchema.table('feed', {
  only: boolean('only').primaryKey().default(true),
  /** Numbers begin anew in another database: readers tell by this, and it stands in every key of dispatch. */
  id: text('id').notNull().default(sql`left(md5(random()::text), 12)`),
  lastSeq: bigint('last_seq', { mode: 'number' }).notNull(),
});
