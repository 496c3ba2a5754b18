import { sql } from 'drizzle-orm';
import { bigint, boolean, customType, index, integer, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { epochMs, platformSchema } from './platform-schema.ts';

export const bytea = customType<{ data: Uint8Array; driverData: Uint8Array }>({ dataType: () => 'bytea' });

/** Who owns connections: `last_created_at` keeps `createdAt` from falling, whatever the clocks do. */
export const workspaces = platformSchema.table('workspaces', {
  id: text('id').primaryKey(),
  kind: text('kind').notNull(),
  slots: integer('slots').notNull(),
  lastCreatedAt: epochMs('last_created_at').notNull(),
  createdAt: epochMs('created_at').notNull(),
});

/** A key is stored as its hash. `connection_ids` null means every connection of the workspace. */
export const apiKeys = platformSchema.table(
  'api_keys',
  {
    id: text('id').primaryKey(),
    workspaceId: text('workspace_id')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    hash: bytea('hash').notNull().unique(),
    scopes: text('scopes').array().notNull(),
    connectionIds: text('connection_ids').array(),
    ipAllowlist: text('ip_allowlist').array(),
    createdAt: epochMs('created_at').notNull(),
    revokedAt: epochMs('revoked_at'),
  },
  (table) => [index('api_keys_workspace').on(table.workspaceId)],
);

/**
 * A number linked, or about to be linked, to the network. `state` is the session: `connecting`, `live` or
 * `disconnected`; the wire names differ between list and detail.
 */
export const connections = platformSchema.table(
  'connections',
  {
    id: text('id').primaryKey(),
    workspaceId: text('workspace_id')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    provider: text('provider').notNull(),
    phoneNumber: text('phone_number'),
    label: text('label').notNull(),
    tier: text('tier').notNull(),
    state: text('state').notNull(),
    needsReconnect: boolean('needs_reconnect').notNull(),
    /** The last event told of it was `connection.disconnected`. */
    reportedBroken: boolean('reported_broken').notNull(),
    isDefault: boolean('is_default').notNull(),
    profilePicUrl: text('profile_pic_url'),
    /** The order in which connections were made, for lists. */
    position: bigint('position', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    createdAt: epochMs('created_at').notNull(),
    /** When a number paired for the first time. */
    pairedAt: epochMs('paired_at'),
    /** End of the warm-up of a new number; null for one with a past. */
    warmupUntil: epochMs('warmup_until'),
  },
  (table) => [index('connections_workspace').on(table.workspaceId, table.position)],
);

/**
 * A slot's licence. It is attached to a connection, or lies in its workspace's pool with the time that is
 * left. Whether it has expired is never stored: it is read against the domain clock.
 */
export const licences = platformSchema.table(
  'licences',
  {
    id: text('id').primaryKey(),
    workspaceId: text('workspace_id')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    connectionId: text('connection_id').references(() => connections.id, { onDelete: 'set null' }),
    kind: text('kind').notNull(),
    expiresAt: epochMs('expires_at').notNull(),
    createdAt: epochMs('created_at').notNull(),
  },
  (table) => [
    index('licences_workspace').on(table.workspaceId),
    uniqueIndex('licences_connection').on(table.connectionId).where(sql`${table.connectionId} is not null`),
  ],
);
