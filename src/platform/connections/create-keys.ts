import { createHash } from 'node:crypto';
import { and, eq, gt, lte, sql } from 'drizzle-orm';
import { LIMITS } from '../../contract/service/limits.ts';
import { orm } from '../../runtime/database/orm.ts';
import { createKeys } from '../db/pairing-tables.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { StateChange } from '../time/state-change.ts';

/** The idempotency key of a create, with the hash of the request's canonical body. */
export interface CreateKey {
  readonly key: string;
  readonly bodyHash: Uint8Array;
}

function sha256(...parts: readonly string[]): Buffer {
  return createHash('sha256').update(parts.join('\0')).digest();
}

/**
 * Locks a key until the end of the transaction and returns the connection that it created in the last 24 hours, or
 * null for a new key. A request in flight is marked by this lock, so the mark disappears if its process dies.
 * Throws `idempotency_in_progress` while another request holds the key,
 * `idempotency_key_reuse` for another body. Implements `Rules per endpoint`, 2, idempotency.
 */
export async function takeCreateKey(
  { tx, now }: StateChange,
  workspaceId: string,
  { key, bodyHash }: CreateKey,
): Promise<string | null> {
  const lock = sha256('create-connection', workspaceId, key).readBigInt64BE();
  const [held] = await orm(tx)
    .select({ taken: sql<boolean>`taken` })
    .from(sql`pg_try_advisory_xact_lock(${lock}) taken`);
  // [connections.create.idempotency.in-flight] [errors.idempotency_in_progress]
  if (held?.taken !== true) {
    throw new PlatformError('idempotency_in_progress', {
      // [connections.create.idempotency.in-flight-wait]
      retryAfterSeconds: LIMITS.idempotencyInProgressRetryAfterSeconds,
      why: 'the first request with this key is still in flight',
    });
  }
  // [connections.create.idempotency.per-workspace] [connections.create.idempotency.lifetime]
  // [limits.idempotency-key]
  const [row] = await orm(tx)
    .select({ bodyHash: createKeys.bodyHash, connectionId: createKeys.connectionId })
    .from(createKeys)
    .where(
      and(
        eq(createKeys.workspaceId, workspaceId),
        eq(createKeys.keyHash, sha256(key)),
        gt(createKeys.createdAt, now - LIMITS.idempotencyKeyLifetimeMs),
      ),
    );
  if (row === undefined) return null;
  // [connections.create.idempotency.reuse] [errors.idempotency_key_reuse]
  if (Buffer.compare(row.bodyHash, bodyHash) !== 0) {
    throw new PlatformError('idempotency_key_reuse', { why: 'the key was used with a different body' });
  }
  return row.connectionId; // [connections.create.idempotency.replay]
}

/**
 * Stores the connection that a key created, and deletes the workspace's expired keys. The caller holds the lock of
 * the workspace.
 */
export async function keepCreateKey(
  { tx, now }: StateChange,
  workspaceId: string,
  { key, bodyHash }: CreateKey,
  connectionId: string,
): Promise<void> {
  const free = lte(createKeys.createdAt, now - LIMITS.idempotencyKeyLifetimeMs);
  await orm(tx)
    .delete(createKeys)
    .where(and(eq(createKeys.workspaceId, workspaceId), free));
  await orm(tx)
    .insert(createKeys)
    .values({ workspaceId, keyHash: sha256(key), bodyHash, connectionId, createdAt: now });
}
