import { sql } from 'drizzle-orm';
import { bigint, index, primaryKey, smallint, text, uniqueIndex } from 'drizzle-orm/pg-core';
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
    index('messages_files').on(table.connectionId).where(sql`${table.mediaId} is not null`),
    index('messages_media').on(table.mediaId).where(sql`${table.mediaId} is not null`),
  ],
);

/**
 * The journal of sends: one row from before the call to the network until the answer is known. A row with a key is
 * kept for 24 hours with the first answer. A row without an answer is completed or deleted once no process runs its
 * send. Keys are stored as hashes.
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
    /** Hash of the message, for callers that require a key to belong to one message. */
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

/** Keys assigned to sends without a key, until an identical send counts as a new one. */
export const assignedKeys = platformSchema.table(
  'assigned_keys',
  {
    workspaceId: text('workspace_id').notNull(),
    /** Hash of the sender and the message. */
    fingerprint: bytea('fingerprint').notNull(),
    idempotencyKey: text('idempotency_key').notNull(),
    expiresAt: epochMs('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.workspaceId, table.fingerprint] }),
    index('assigned_keys_expiry').on(table.expiresAt),
  ],
);
