import { bigint, integer, smallint, text } from 'drizzle-orm/pg-core';
import type { DeliveryOutcome } from './batch.ts';
import { bytea, connectorSchema, epochMs } from './connector-schema.ts';

/**
 * The raw inbox, for queries. It is partitioned by `received_at`, which the ORM cannot say, so a migration of its own
 * makes it, and `schema.ts` leaves it out.
 */
export const inbox = connectorSchema.table('inbox', {
  /** On our clock. */
  receivedAt: epochMs('received_at').notNull(),
  /** Rises with each delivery that is stored. */
  id: bigint('id', { mode: 'number' }).notNull(),
  subscriptionId: text('subscription_id').notNull(),
  accountId: text('account_id').notNull(),
  signedAt: epochMs('signed_at').notNull(),
  body: bytea('body').notNull(),
  event: text('event'),
  connectionId: text('connection_id'),
  messageId: text('message_id'),
  outcome: text('outcome').$type<DeliveryOutcome>().notNull(),
  reason: text('reason'),
  /** Bits of `CHANGE`. */
  changeMask: smallint('change_mask').notNull(),
  changeBatch: bigint('change_batch', { mode: 'number' }),
  secretVersion: integer('secret_version'),
});
