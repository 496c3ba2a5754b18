import { sql } from 'drizzle-orm';
import { bigint, index, primaryKey, smallint, text, uniqueIndex } from 'drizzle-orm/pg-core';
import type { Direction, MessageStatus } from '../../contract/service/statuses.ts';
import { bytea } from './core-tables.ts';
import { epochMs, platformSchema } from './platform-schema.ts';

/**
 * Messages in and out. `position` is taken under the workspace's row lock, so within a workspace it follows
 * the order of commits and `created_at` never falls along it: pages are cut by position alone. `receipts`
 * are the bits of the statuses told so far (1 sent, 2 delivered, 4 read, 8 failed).
 */
export const messages = platformSchema.table(
  'messages',
  {
    id: text('id').primaryKey(),
    position: bigint('position', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    workspaceId: text('workspace_id').notNull(),
    connectionId: text('connection_id').notNull(),
    direction: text('direction').$type<Direction>().notNull(),
    peer: text('peer').notNull(),
    text: text('text'),
    mediaId: text('media_id'),
    mediaType: text('media_type'),
    status: text('status').$type<MessageStatus>().notNull(),
    receipts: smallint('receipts').notNull(),
    errorMessage: text('error_message'),
    waMessageId: text('wa_message_id'),
    createdAt: epochMs('created_at').notNull(),
  },
  (table) => [
    /** For people who see all workspaces. */
    index('messages_position').on(table.position),
    index('messages_workspace').on(table.workspaceId, table.position),
    index('messages_connection').on(table.connectionId, table.position),
    /** What one person wrote: a read receipt is for a chat. */
    index('messages_chat')
      .on(table.connectionId, table.peer, table.position)
      .where(sql`${table.direction} = 'incoming'`),
    index('messages_files').on(table.connectionId).where(sql`${table.mediaId} is not null`),
    index('messages_media').on(table.mediaId).where(sql`${table.mediaId} is not null`),
  ],
);

/**
 * The journal of sends, one row from before the call to the network until the answer is known. With a key
 * the row stays for 24 hours and holds the first answer. A row without an answer whose send no process runs any
 * more is completed or freed. Keys are stored as hashes, of any content.
 */
export const sends = platformSchema.table(
  'sends',
  {
    messageId: text('message_id').primaryKey(),
    workspaceId: text('workspace_id').notNull(),
    connectionId: text('connection_id').notNull(),
    recipient: text('recipient').notNull(),
    text: text('text'),
    mediaId: text('media_id'),
    mediaType: text('media_type'),
    keyHash: bytea('key_hash'),
    /** Of the message, for callers whose keys stand for one message each. */
    messageHash: bytea('message_hash').notNull(),
    /** JSON of the answer; null while the send is in progress. */
    answer: text('answer'),
    startedAt: epochMs('started_at').notNull(),
    expiresAt: epochMs('expires_at').notNull(),
  },
  (table) => [
    uniqueIndex('sends_key').on(table.workspaceId, table.keyHash).where(sql`${table.keyHash} is not null`),
    index('sends_in_progress').on(table.messageId).where(sql`${table.answer} is null`),
    index('sends_expiry').on(table.expiresAt),
  ],
);

/** Keys given to sends that came without one, until such a send counts as a new one. */
export const givenKeys = platformSchema.table(
  'given_keys',
  {
    workspaceId: text('workspace_id').notNull(),
    /** Of the sender and the message. */
    fingerprint: bytea('fingerprint').notNull(),
    idempotencyKey: text('idempotency_key').notNull(),
    expiresAt: epochMs('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.workspaceId, table.fingerprint] }),
    index('given_keys_expiry').on(table.expiresAt),
  ],
);
