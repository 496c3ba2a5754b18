import { integer, text } from 'drizzle-orm/pg-core';
import { connectorSchema, epochMs } from './column-types.ts';

/** The last response of `GET /account` for an account. */
export const quotas = connectorSchema.table('quotas', {
  accountId: text('account_id').primaryKey(),
  slotsTotal: integer('slots_total').notNull(),
  slotsUsed: integer('slots_used').notNull(),
  slotsAvailable: integer('slots_available').notNull(),
  /** The earliest end of a license; null while no number has paired. */
  nextExpiry: epochMs('next_expiry'),
  connectionsTotal: integer('connections_total').notNull(),
  connectionsConnected: integer('connections_connected').notNull(),
  connectionsNeedReconnect: integer('connections_need_reconnect').notNull(),
  /** On our clock. */
  readAt: epochMs('read_at').notNull(),
});
