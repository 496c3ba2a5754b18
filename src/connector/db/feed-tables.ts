import { sql } from 'drizzle-orm';
import { bigint, boolean, index, jsonb, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { connectorSchema, epochMs } from './connector-schema.ts';
import { messageStatusEnum } from './message-tables.ts';

/**
 * What changed, for the CRM. A writer inserts without `seq`, in the transaction of the change and after the
 * changed row is locked. `connector.number_changes` gives committed rows their `seq`, without a gap and in
 * the order of `id`. Readers see numbered rows only.
 */
export const changes = connectorSchema.table(
  'changes',
  {
    id: bigint('id', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    seq: bigint('seq', { mode: 'number' }),
    type: text('type').notNull(),
    at: epochMs('at').notNull(),
    accountId: text('account_id').notNull(),
    connectionId: text('connection_id').notNull(),
    messageId: text('message_id'),
    source: text('source').$type<'webhook' | 'poll' | 'send' | 'api'>().notNull(),
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
    uniqueIndex('changes_seq').on(table.seq).where(sql`${table.seq} is not null`),
    index('changes_unnumbered').on(table.id).where(sql`${table.seq} is null`),
  ],
);

/** One row: the last `seq` given. Its row lock is what makes numbering one at a time. */
export const feed = connectorSchema.table('feed', {
  only: boolean('only').primaryKey().default(true),
  lastSeq: bigint('last_seq', { mode: 'number' }).notNull(),
});
