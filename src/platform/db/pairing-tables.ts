import { index, primaryKey, text } from 'drizzle-orm/pg-core';
import { epochMs, platformSchema } from './column-types.ts';
import { bytea, connections } from './core-tables.ts';

/**
 * The pairing session of a `qr` connection. QR codes are signed with `secret` and not stored; a new secret
 * invalidates earlier ones. Only the newest pairing code is valid.
 */
export const pairingSessions = platformSchema.table('pairing_sessions', {
  connectionId: text('connection_id')
    .primaryKey()
    .references(() => connections.id, { onDelete: 'cascade' }),
  secret: bytea('secret').notNull(),
  code: text('code'),
  /** Digits of the number for which the code was requested. */
  codePhone: text('code_phone'),
  codeExpiresAt: epochMs('code_expires_at'),
  /** Times of recent code requests, for the cap. */
  codeRequests: epochMs('code_requests').array().$type<readonly number[]>().notNull(),
});

/** Idempotency keys of creates, as hashes, reusable after 24 hours. No foreign key: keys outlive connections. */
export const createKeys = platformSchema.table(
  'create_keys',
  {
    workspaceId: text('workspace_id').notNull(),
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

/** Numbers that have ever paired in a workspace: a number has a warm-up only when it pairs for the first time. */
export const pairedNumbers = platformSchema.table(
  'paired_numbers',
  {
    workspaceId: text('workspace_id').notNull(),
    phoneNumber: text('phone_number').notNull(),
    /** Null: the number was used before, without a warm-up here. */
    warmupUntil: epochMs('warmup_until'),
  },
  (table) => [primaryKey({ columns: [table.workspaceId, table.phoneNumber] })],
);
