import { bigint, boolean, index, text } from 'drizzle-orm/pg-core';
import type { ConnectionCause } from '../../contract/sandbox/connections.ts';
import { epochMs, platformSchema } from './column-types.ts';
import { connections, type SessionState } from './core-tables.ts';

/** State that the sandbox keeps across restarts, as JSON by name. The service never reads it. */
export const sandboxState = platformSchema.table('sandbox_state', {
  name: text('name').primaryKey(),
  value: text('value').notNull(),
});

/** The latest transitions of each connection. The service itself never reads them. */
export const sandboxTransitions = platformSchema.table(
  'sandbox_transitions',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    connectionId: text('connection_id')
      .notNull()
      .references(() => connections.id, { onDelete: 'cascade' }),
    at: epochMs('at').notNull(),
    trigger: text('trigger').$type<ConnectionCause>().notNull(),
    /** Null for a connection that was just created. */
    fromState: text('from_state').$type<SessionState>(),
    toState: text('to_state').$type<SessionState>().notNull(),
    needsReconnect: boolean('needs_reconnect').notNull(),
    reason: text('reason'),
    event: text('event'),
  },
  (table) => [index('sandbox_transitions_connection').on(table.connectionId, table.id)],
);
