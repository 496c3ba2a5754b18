import { sql } from 'drizzle-orm';
import { boolean, index, primaryKey, smallint, text } from 'drizzle-orm/pg-core';
import type { MessageOrigin } from '../../contract/connector/messages.ts';
import { personKey } from '../../patterns/phone-variants.ts';
import { connectorSchema, epochMs } from './column-types.ts';

/** The status ladder: a status can only advance in this order. */
export const messageStatusEnum = connectorSchema.enum('message_status', [
  'sent',
  'delivered',
  'read',
  'failed',
]);

/**
 * The known state of each message, from all sources. Only the merge statement writes it. Its texts contain no
 * NUL and no lone surrogate (they become U+FFFD); the raw bytes are in the inbox.
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
    /** A client of the API named the other party. What the service reports replaces it. */
    peerNamed: boolean('peer_named').notNull().default(false),
    text: text('text'),
    mediaUrl: text('media_url'),
    mediaType: text('media_type'),
    status: messageStatusEnum('status'),
    errorMessage: text('error_message'),
    waMessageId: text('wa_message_id'),
    /** The CRM's own id of the send of this connector that made it. */
    reference: text('reference'),
    /** Of an outgoing message: see `origin` in `merge-columns.ts`. Null: an earlier version stored it. */
    origin: text('origin').$type<MessageOrigin>(),
    /** Polling found it, and it is older than the first listing of its connection. */
    historic: boolean('historic').notNull().default(false),
    /** The person was erased: the row has no texts, and nothing changes it. */
    erased: boolean('erased').notNull().default(false),
    /** The service's own time, once a poll has read the message; until then the earliest timestamp of an event. */
    createdAt: epochMs('created_at').notNull(),
    firstSeenBy: text('first_seen_by').$type<'webhook' | 'poll' | 'send'>().notNull(),
    firstSeenAt: epochMs('first_seen_at').notNull(),
    /** A poll has read it, so `created_at` is final. */
    polled: boolean('polled').notNull(),
    /** The status before the last write, and what that write changed: see `CHANGE` in `facts.ts`. */
    previousStatus: messageStatusEnum('previous_status'),
    changeMask: smallint('change_mask').notNull(),
    /** Which events a webhook has delivered: 1 received, 2 sent, 4 delivered, 8 read, 16 failed. */
    webhookSeen: smallint('webhook_seen').notNull(),
    /** Both `read` and `failed` were reported; the first one is kept. */
    statusConflict: boolean('status_conflict').notNull(),
    /** When a webhook last delivered something about it, on our clock. Null if none has. */
    webhookAt: epochMs('webhook_at'),
  },
  (table) => [
    /** The id comes first, because messages are also looked up by the id only. */
    primaryKey({ name: 'messages_pkey', columns: [table.id, table.connectionId] }),
    /**
     * The newest of each direction. For both directions, read both and take the newest. The few messages of the
     * same millisecond are sorted when they are read: their ids in this index would slow each delivery down.
     */
    index('messages_newest').on(table.connectionId, table.direction, table.createdAt.desc().nullsFirst()),
    /** A conversation, without the other messages of the connection. */
    index('messages_peer')
      .on(table.connectionId, table.peer, table.createdAt.desc().nullsFirst())
      .where(sql`${table.peer} is not null`),
    /** Messages whose sender no source has named. */
    index('messages_unknown_sender')
      .on(table.connectionId, table.createdAt.desc().nullsFirst())
      .where(sql`${table.peer} is null and ${table.direction} = 'incoming'`),
    /** Few rows: late deliveries of them are deleted. */
    index('messages_erased').on(table.connectionId, table.id).where(sql`${table.erased}`),
    /** Few rows: those whose send may still be answered. */
    index('messages_unknown_origin').on(table.connectionId).where(sql`${table.origin} = 'unknown'`),
    /** Few rows: `GET /v1/sync` counts them. */
    index('messages_conflicts').on(table.connectionId, table.createdAt).where(sql`${table.statusConflict}`),
  ],
);

/**
 * What is shown instead of stored columns. The key of a person follows from the address, so a number whose spellings
 * a later version learns needs no rewriting. An earlier version of the connector stored no origin.
 */
export function shownFields(row: {
  readonly direction: string | null;
  readonly origin: MessageOrigin | null;
  readonly peer: string | null;
}): { readonly origin: MessageOrigin | null; readonly personKey: string | null } {
  return {
    origin: row.direction === 'outgoing' ? (row.origin ?? 'unknown') : null,
    personKey: row.peer === null ? null : personKey(row.peer),
  };
}
