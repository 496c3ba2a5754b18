import { bigint, integer, smallint, text } from 'drizzle-orm/pg-core';
import { bytea, connectorSchema, epochMs } from './column-types.ts';
import type { DeliveryOutcome } from './facts.ts';

/** For the inbox and each of its partitions. */
export const inboxColumns = {
  /** On our clock. */
  receivedAt: epochMs('received_at').notNull(),
  id: bigint('id', { mode: 'number' }).notNull(),
  subscriptionId: text('subscription_id').notNull(),
  accountId: text('account_id').notNull(),
  signedAt: epochMs('signed_at').notNull(),
  body: bytea('body').notNull(),
  /** The value of `event`, as far as it could be read. */
  event: text('event'),
  connectionId: text('connection_id'),
  messageId: text('message_id'),
  outcome: text('outcome').$type<DeliveryOutcome>().notNull(),
  reason: text('reason'),
  /** Bits of `CHANGE` for which the delivery is the cause. */
  changeMask: smallint('change_mask').notNull(),
  /** The batch of its changes; null if it changed nothing that the feed shows. */
  changeBatch: bigint('change_batch', { mode: 'number' }),
  /** The secret of the subscription that matches its signature. */
  secretVersion: integer('secret_version'),
};

/**
 * The raw log of verified deliveries, for queries. It is partitioned by day, which drizzle cannot express, so a
 * migration creates it by hand, and `schema.ts` does not contain it.
 *
 * Each day has one index, a btree by message, which traces need; it costs a few microseconds for each delivery. A hash
 * index costs the same and cannot be read in order. A BRIN index needs a range of time, and a copy of a delivery may
 * arrive at any time.
 */
export const inbox = connectorSchema.table('inbox', inboxColumns);
