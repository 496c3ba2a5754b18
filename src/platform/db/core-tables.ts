import { sql } from 'drizzle-orm';
import { bigint, boolean, customType, index, integer, text, uniqueIndex } from 'drizzle-orm/pg-core';
import type { Scope } from '../../contract/service/scopes.ts';
import type { Provider, Tier, WorkspaceKind } from '../../contract/service/statuses.ts';
import { epochMs, platformSchema } from './column-types.ts';

/** Bytes: a `Buffer` in a row, any `Uint8Array` as a parameter. */
export const bytea = customType<{ data: Uint8Array }>({ dataType: () => 'bytea' });

/** Owners of connections. `last_created_at` ensures that `createdAt` never decreases, whatever the clocks do. */
export const workspaces = platformSchema.table('workspaces', {
  id: text('id').primaryKey(),
  kind: text('kind').$type<WorkspaceKind>().notNull(),
  slots: integer('slots').notNull(),
  lastCreatedAt: epochMs('last_created_at').notNull(),
  createdAt: epochMs('created_at').notNull(),
  /** Virtual time may stand still; the order of a list does not. */
  position: bigint('position', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
});

/** A key is stored as its hash. `connection_ids` null means every connection of the workspace. */
export const apiKeys = platformSchema.table(
  'api_keys',
  {
    id: text('id').primaryKey(),
    workspaceId: text('workspace_id').notNull(),
    hash: bytea('hash').notNull().unique(),
    scopes: text('scopes').array().$type<readonly Scope[]>().notNull(),
    connectionIds: text('connection_ids').array().$type<readonly string[]>(),
    ipAllowlist: text('ip_allowlist').array().$type<readonly string[]>(),
    createdAt: epochMs('created_at').notNull(),
    revokedAt: epochMs('revoked_at'),
    position: bigint('position', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
  },
  (table) => [index('api_keys_workspace').on(table.workspaceId)],
);

/** States of a session. On the wire, `live` is `open` in the list and `connected` in the detail. */
export const SESSION_STATES = ['connecting', 'live', 'disconnected'] as const;
export type SessionState = (typeof SESSION_STATES)[number];

/**
 * A number linked, or about to be linked, to the network. `state` is that of its session.
 */
export const connections = platformSchema.table(
  'connections',
  {
    id: text('id').primaryKey(),
    workspaceId: text('workspace_id').notNull(),
    provider: text('provider').$type<Provider>().notNull(),
    phoneNumber: text('phone_number'),
    label: text('label').notNull(),
    tier: text('tier').$type<Tier>().notNull(),
    state: text('state').$type<SessionState>().notNull(),
    needsReconnect: boolean('needs_reconnect').notNull(),
    /** The last event sent for it was `connection.disconnected`. */
    reportedBroken: boolean('reported_broken').notNull(),
    isDefault: boolean('is_default').notNull(),
    profilePicUrl: text('profile_pic_url'),
    /** The order of creation, for lists. */
    position: bigint('position', { mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    createdAt: epochMs('created_at').notNull(),
    /** Time of the first pairing. */
    pairedAt: epochMs('paired_at'),
    /** End of the warm-up of a new number; null for a number that was used before. */
    warmupUntil: epochMs('warmup_until'),
  },
  (table) => [index('connections_workspace').on(table.workspaceId, table.position)],
);

/** A trial, a paid slot, an add-on of a portal workspace. */
export type LicenseKind = 'trial' | 'paid' | 'addon';

/**
 * A slot's license. It is attached to a connection, or in its workspace's pool with its remaining time. Whether it
 * has expired is not stored but computed from the domain clock.
 */
export const licenses = platformSchema.table(
  'licenses',
  {
    id: text('id').primaryKey(),
    workspaceId: text('workspace_id').notNull(),
    connectionId: text('connection_id'),
    kind: text('kind').$type<LicenseKind>().notNull(),
    expiresAt: epochMs('expires_at').notNull(),
    createdAt: epochMs('created_at').notNull(),
  },
  (table) => [
    index('licenses_workspace').on(table.workspaceId),
    uniqueIndex('licenses_connection').on(table.connectionId).where(sql`${table.connectionId} is not null`),
  ],
);
