import { sql } from 'drizzle-orm';
import { boolean, index, primaryKey, smallint, text } from 'drizzle-orm/pg-core';
import { connectorSchema, epochMs } from './connector-schema.ts';

/** The status ladder. Its order is the order in which a status may rise. */
export const messageStatusEnum = connectorSchema.enum('message_status', [
  'sent',
  'delivered',
  'read',
  'failed',
]);

/**
 * What is known of each message, from whichever source. Written by the merge statement alone.
 * Text in it holds no NUL and no lone surrogate (they become U+FFFD); the raw bytes are in the inbox.
 */
export const messages = connectorSchema.table(
  'messages',
  {
    connectionId: text('connection_id').notNull(),
    id: text('id').notNull(),
    accountId: text('account_id').notNull(),
    direction: text('direction').$type<'incoming' | 'outgoing'>().notNull(),
    /** The other party's digits. */
    peer: text('peer'),
    text: text('text'),
    mediaUrl: text('media_url'),
    mediaType: text('media_type'),
    status: messageStatusEnum('status'),
    errorMessage: text('error_message'),
    waMessageId: text('wa_message_id'),
    /** The service's, once a poll has shown the message; until then the earliest timestamp of an event. */
    createdAt: epochMs('created_at').notNull(),
    firstSeenBy: text('first_seen_by').$type<'webhook' | 'poll' | 'send'>().notNull(),
    firstSeenAt: epochMs('first_seen_at').notNull(),
    /** A poll has shown it, so `created_at` is final. */
    polled: boolean('polled').notNull(),
    /** The status before the last write, and what that write changed: see `CHANGE` in `facts.ts`. */
    previousStatus: messageStatusEnum('previous_status'),
    changeMask: smallint('change_mask').notNull(),
    /** Which events a webhook has brought: 1 received, 2 sent, 4 delivered, 8 read, 16 failed. */
    webhookSeen: smallint('webhook_seen').notNull(),
    /** Both `read` and `failed` were told of it; the first one stands. */
    statusConflict: boolean('status_conflict').notNull(),
    /** When a webhook last brought something of it, on our clock. Null: none has. */
    webhookAt: epochMs('webhook_at'),
  },
  (table) => [
    /** The id first: messages are also looked up by it alone. */
    primaryKey({ name: 'messages_pkey', columns: [table.id, table.connectionId] }),
    /**
     * The newest of each direction. Who wants both reads both and takes the newest of all. The few of one
     * millisecond are sorted when they are read: their ids here would make each delivery dearer.
     */
    index('messages_newest').on(table.connectionId, table.direction, table.createdAt.desc().nullsFirst()),
    /** A conversation, without the rest of the connection. */
    index('messages_peer')
      .on(table.connectionId, table.peer, table.createdAt.desc().nullsFirst())
      .where(sql`${table.peer} is not null`),
  ],
);
