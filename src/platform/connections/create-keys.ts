import { createHash } from 'node:crypto';
import { LIMITS } from '../../contract/service/limits.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { StateChange } from '../time/state-change.ts';

/** An idempotency key of a create, with the hash of the canonical body that came with it. */
export interface CreateKey {
  readonly key: string;
  readonly bodyHash: Uint8Array;
}

interface KeyRow {
  body_hash: Buffer;
  connection_id: string;
}

function sha256(...parts: readonly string[]): Buffer {
  return createHash('sha256').update(parts.join('\0')).digest();
}

/**
 * Takes a key for the rest of the transaction and answers the connection that it made in the last 24 hours,
 * or null for a new key. The mark of a request in flight is a lock of its transaction, so it ends with the
 * process that holds it. Throws `idempotency_in_progress` while another request holds the key,
 * `idempotency_key_reuse` for another body. Implements `Rules per endpoint`, 2, idempotency.
 */
export async function takeCreateKey(
  { tx, now }: StateChange,
  workspaceId: string,
  { key, bodyHash }: CreateKey,
): Promise<string | null> {
  const [held] = await tx.query<{ taken: boolean }>('SELECT pg_try_advisory_xact_lock($1::bigint) AS taken', [
    sha256('create-connection', workspaceId, key).readBigInt64BE(),
  ]);
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
  const [row] = await tx.query<KeyRow>(
    `SELECT body_hash, connection_id FROM platform.create_keys
     WHERE workspace_id = $1 AND key_hash = $2 AND created_at > $3`,
    [workspaceId, sha256(key), now - LIMITS.idempotencyKeyLifetimeMs],
  );
  if (row === undefined) return null;
  // [connections.create.idempotency.reuse] [errors.idempotency_key_reuse]
  if (!row.body_hash.equals(bodyHash)) {
    throw new PlatformError('idempotency_key_reuse', { why: 'the key came with another body before' });
  }
  return row.connection_id; // [connections.create.idempotency.replay]
}

/**
 * Remembers what a key made, and forgets the workspace's keys that are free again. The caller holds the lock
 * of the workspace.
 */
export async function keepCreateKey(
  { tx, now }: StateChange,
  workspaceId: string,
  { key, bodyHash }: CreateKey,
  connectionId: string,
): Promise<void> {
  await tx.query('DELETE FROM platform.create_keys WHERE workspace_id = $1 AND created_at <= $2', [
    workspaceId,
    now - LIMITS.idempotencyKeyLifetimeMs,
  ]);
  await tx.query(
    `INSERT INTO platform.create_keys (workspace_id, key_hash, body_hash, connection_id, created_at)
     VALUES ($1, $2, $3, $4, $5)`,
    [workspaceId, sha256(key), bodyHash, connectionId, now],
  );
}
