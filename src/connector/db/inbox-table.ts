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
 */
export const inbox = connectorSchema.table('inbox', inboxColumns);
