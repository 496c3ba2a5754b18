import { sql } from 'drizzle-orm';
import { bigint, boolean, index, json, jsonb, smallint, text, uniqueIndex } from 'drizzle-orm/pg-core';
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

/** What a receiver answered: some of its headers, in lower case, and the beginning of its body as text. */
export interface AttemptResponse {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** One attempt, or one copy of it. `at` is wall-clock epoch milliseconds, `ms` how long it took. */
export interface Attempt {
  readonly at: number;
  readonly ms: number;
  /** The receiver's answer, if it gave one. */
  readonly status?: number;
  /** Absent if it would be empty. */
  readonly response?: AttemptResponse;
  /** Why the attempt has no answer, or why its answer is not valid. */
  readonly error?: string;
  /** Names of the changes that a port made to the attempt. */
  readonly marks?: readonly string[];
}

export type DeliveryOutcome = 'pending' | 'delivered' | 'dropped';

/**
 * Why an event was dropped without all attempts: no webhook was set, or the service stopped before the outcome was
 * known.
 */
export type DropReason = 'no_webhook' | 'interrupted';

/**
 * What a delivery carries in place of the bytes of its event. It is made beside the event's own deliveries, and changes
 * neither them nor the ledger.
 */
export interface Variant {
  /** The delivery that it varies. */
  readonly of: number;
  readonly body: string;
  /** In addition to those of every delivery, or in place of its `Content-Type`. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The delivery of an event to one subscription, from the transaction that stores the event. */
export const deliveries = platformSchema.table(
  'deliveries',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    eventId: bigint('event_id', { mode: 'number' }).notNull(),
    /** The workspace or the OAuth app that receives it. */
    subscriptionId: text('subscription_id').notNull(),
    createdAt: wallMs('created_at').notNull(),
    outcome: text('outcome').$type<DeliveryOutcome>().notNull().default('pending'),
    /** Why it ended without its attempts. */
    reason: text('reason').$type<DropReason>(),
    /** When its next attempt may begin; null during an attempt, and after the last one. */
    dueAt: wallMs('due_at'),
    /** True: no attempt begins, due or not. */
    held: boolean('held').notNull().default(false),
    /** Attempts that have begun. */
    made: smallint('made').notNull().default(0),
    /** Where the first attempt was sent, and what it was signed with and when; all others repeat it. */
    url: text('url'),
    secret: text('secret'),
    signedAt: wallMs('signed_at'),
    /** Each request, with its result. */
    attempts: jsonb('attempts').$type<readonly Attempt[]>().notNull().default([]),
    /** Null for a delivery of the event itself. */
    variant: json('variant').$type<Variant>(),
  },
  (table) => [
    index('deliveries_due')
      .on(table.subscriptionId, table.dueAt, table.id)
      .where(sql`${table.dueAt} is not null`),
    index('deliveries_event').on(table.eventId),
    index('deliveries_subscription').on(table.subscriptionId, table.id),
  ],
);
