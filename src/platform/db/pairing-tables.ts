import { index, primaryKey, text } from 'drizzle-orm/pg-core';
import { bytea, connections, workspaces } from './core-tables.ts';
import { epochMs, platformSchema } from './platform-schema.ts';

/**
 * How the owner of a `qr` connection can pair. Pictures are signed with `secret` and stored nowhere; a new
 * secret voids those shown so far. The newest pairing code is the only good one.
 */
export const pairingSessions = platformSchema.table('pairing_sessions', {
  connectionId: text('connection_id')
    .primaryKey()
    .references(() => connections.id, { onDelete: 'cascade' }),
  secret: bytea('secret').notNull(),
  code: text('code'),
  /** Digits of the number that the code was asked for. */
  codePhone: text('code_phone'),
  codeExpiresAt: epochMs('code_expires_at'),
  /** When codes were asked for lately, for the cap. */
  codeRequests: epochMs('code_requests').array().$type<readonly number[]>().notNull(),
});

/** Idempotency keys of creates, as hashes, free again after 24 hours. No reference: a key outlives its connection. */
export const createKeys = platformSchema.table(
  'create_keys',
  {
    workspaceId: text('workspace_id')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    keyHash: bytea('key_hash').notNull(),
    bodyHash: bytea('body_hash').notNull(),
    connectionId: text('connection_id').notNull(),
    createdAt: epochMs('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.workspaceId, table.keyHash] }),
    index('create_keys_age').on(table.workspaceId, table.createdAt),
  ],
);

/** Numbers that ever paired in a workspace: only a new one is warmed up, and each once. */
export const pairedNumbers = platformSchema.table(
  'paired_numbers',
  {
    workspaceId: text('workspace_id')
      .notNull()
      .references(() => workspaces.id, { onDelete: 'cascade' }),
    phoneNumber: text('phone_number').notNull(),
    /** Null: a number with a past. */
    warmupUntil: epochMs('warmup_until'),
  },
  (table) => [primaryKey({ columns: [table.workspaceId, table.phoneNumber] })],
);
