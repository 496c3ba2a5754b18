import { bigint, primaryKey, text } from 'drizzle-orm/pg-core';
import { connectorSchema, epochMs } from './column-types.ts';

/**
 * The receiver's counts for each hour, over all processes: how often, when last, and the related milliseconds.
 * Only for diagnosis. Counted in memory and added periodically, kept for two days.
 */
export const receiverTallies = connectorSchema.table(
  'receiver_tallies',
  {
    /** The beginning of the hour, on our clock. */
    hour: epochMs('hour').notNull(),
    /** Empty if none was named or known. */
    subscriptionId: text('subscription_id').notNull(),
    kind: text('kind').notNull(),
    count: bigint('count', { mode: 'number' }).notNull(),
    lastAt: epochMs('last_at').notNull(),
    totalMs: bigint('total_ms', { mode: 'number' }).notNull(),
    minMs: bigint('min_ms', { mode: 'number' }).notNull(),
    maxMs: bigint('max_ms', { mode: 'number' }).notNull(),
  },
  (table) => [
    primaryKey({ name: 'receiver_tallies_pkey', columns: [table.hour, table.subscriptionId, table.kind] }),
  ],
);
