import { sql } from 'drizzle-orm';
import { bigint, index, smallint, text, uniqueIndex } from 'drizzle-orm/pg-core';
import type { Direction, MessageStatus } from '../../contract/service/statuses.ts';
import { epochMs, platformSchema } from './column-types.ts';
import { bytea } from './core-tables.ts';

/**
 * Incoming and outgoing messages. `position` is assigned under the workspace's row lock, so within a workspace it
 * follows the order of commits, and `created_at` never decreases with it: pages are cut by position only. `receipts`
 * has a bit for each status reported so far (1 sent, 2 delivered, 4 read, 8 failed).
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
    /** Messages of one chat, for read receipts. */
    index('messages_chat')
      .on(table.connectionId, table.peer, table.position)
      .where(sql`${table.direction} = 'incoming'`),
    index('messages_media').on(table.mediaId).where(sql`${table.mediaId} is not null`),
  ],
);

/** Idempotency keys of sends that were answered 200, until they expire. Keys are stored as hashes. */
export const sends = platformSchema.table(
  'sends',
  {
    messageId: text('message_id').primaryKey(),
    workspaceId: text('workspace_id').notNull(),
    keyHash: bytea('key_hash').notNull(),
    /** Of everything by which two messages are the same: a key belongs to one. */
    messageHash: bytea('message_hash').notNull(),
    /** JSON of the answer. */
    answer: text('answer').notNull(),
    expiresAt: epochMs('expires_at').notNull(),
  },
  (table) => [
    uniqueIndex('sends_key').on(table.workspaceId, table.keyHash),
    index('sends_expiry').on(table.expiresAt),
  ],
);
