import { bigint, boolean, index, text } from 'drizzle-orm/pg-core';
import type { OutageCause } from '../../contract/sandbox/connections.ts';
import { platformSchema } from './column-types.ts';
import { connections } from './core-tables.ts';

/**
 * The network's view of a connection and its owner's phone, which may differ from what the service shows. No row: no
 * phone has paired yet. `outage_id` identifies the present outage, so that timers of an earlier one are recognized
 * as stale.
 */
export const networkSessions = platformSchema.table('network_sessions', {
  connectionId: text('connection_id')
    .primaryKey()
    .references(() => connections.id, { onDelete: 'cascade' }),
  alive: boolean('alive').notNull(),
  credentials: boolean('credentials').notNull(),
  cause: text('cause').$type<OutageCause>(),
  heals: boolean('heals'),
  outageId: text('outage_id'),
  phoneOn: boolean('phone_on').notNull(),
  blocked: text('blocked').array().$type<readonly string[]>().notNull(),
});

/** Messages and receipts that the network keeps for a connection it cannot reach, in order. */
export const heldReports = platformSchema.table(
  'held_reports',
  {
    position: bigint('position', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    connectionId: text('connection_id')
      .notNull()
      .references(() => connections.id, { onDelete: 'cascade' }),
    /** JSON of the report. */
    report: text('report').notNull(),
  },
  (table) => [index('held_reports_connection').on(table.connectionId, table.position)],
);
