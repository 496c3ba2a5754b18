import { sql } from 'drizzle-orm';
import { bigint, index, smallint, text, uniqueIndex } from 'drizzle-orm/pg-core';
import type { EventType } from '../../contract/service/events.ts';
import { epochMs, platformSchema } from './column-types.ts';

/** Wall-clock time in epoch milliseconds: delivery runs on the system clock. */
const wallMs = (name: string) => bigint(name, { mode: 'number' });

/** The webhook of a subscription: of a workspace or of an OAuth app. No row: it was never set. */
export const webhookConfigurations = platformSchema.table('webhook_configurations', {
  subscriptionId: text('subscription_id').primaryKey(),
  url: text('url').notNull(),
  secret: text('secret').notNull(),
  changedAt: wallMs('changed_at').notNull(),
});

/**
 * Every event that the service is to deliver, written with the state change that caused it. `body` is the payload
 * exactly as it is sent. `seq` is assigned only to committed rows, without gaps and in the order of `id`, so a reader
 * that keeps the last `seq` misses nothing.
 */
export const ledger = platformSchema.table(
  'ledger',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    seq: bigint('seq', { mode: 'number' }),
    at: epochMs('at').notNull(),
    workspaceId: text('workspace_id').notNull(),
    connectionId: text('connection_id').notNull(),
    messageId: text('message_id'),
    event: text('event').$type<EventType>().notNull(),
    status: text('status'),
    body: text('body').notNull(),
    /** OAuth apps that receive it, besides its workspace. */
    appIds: text('app_ids').array().$type<readonly string[]>().notNull(),
  },
  (table) => [
    uniqueIndex('ledger_seq').on(table.seq).where(sql`${table.seq} is not null`),
    index('ledger_unnumbered').on(table.id).where(sql`${table.seq} is null`),
    /** For people who follow one message. */
    index('ledger_message').on(table.messageId).where(sql`${table.messageId} is not null`),
  ],
);

/** The last number assigned. Its row lock serializes the numbering. */
export const ledgerPosition = platformSchema.table('ledger_position', {
  id: smallint('id').primaryKey(),
  lastSeq: bigint('last_seq', { mode: 'number' }).notNull(),
});

/**
 * The result of the delivery of an event to one subscription, written once when the delivery ends. `url` is null if
 * no webhook was set.
 */
export const deliveries = platformSchema.table(
  'deliveries',
  {
    id: bigint('id', { mode: 'number' }).primaryKey(),
    eventId: bigint('event_id', { mode: 'number' }).notNull(),
    /** The workspace or the OAuth app that receives it. */
    subscriptionId: text('subscription_id').notNull(),
    url: text('url'),
    outcome: text('outcome').$type<'delivered' | 'dropped'>().notNull(),
    /** Why no attempt was made. */
    reason: text('reason').$type<'no_webhook' | 'backlog_full' | 'interrupted'>(),
    createdAt: wallMs('created_at').notNull(),
    signedAt: wallMs('signed_at'),
    signature: text('signature'),
    /** JSON array of the attempts, see `webhooks/delivery-record.ts`. */
    attempts: text('attempts').notNull(),
    /** JSON of the variant, see `webhooks/delivery-record.ts`; null for a delivery of the event itself. */
    variant: text('variant'),
  },
  (table) => [
    index('deliveries_event').on(table.eventId),
    index('deliveries_subscription').on(table.subscriptionId, table.id),
  ],
);
