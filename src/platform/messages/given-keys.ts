import { createHash, randomUUID } from 'node:crypto';
import type { Queryable } from '../../runtime/database/database.ts';
import type { Credential } from '../credentials/credential.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { MessageSend } from './send-messages.ts';

const FORGOTTEN_AT_ONCE = 100;

/** The app, not its grant: a client that asked for more scopes in between is still the same. */
function fingerprintOf({ subscriptionId }: Credential, { connectionId, to, text }: MessageSend): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([subscriptionId, connectionId, to, text]))
    .digest();
}

/**
 * The idempotency key of a send that came without one: that of the last call with the same message by the same
 * app within ten minutes, else a new one. Who repeats a call because its answer did not come knows no key.
 * [choice.tools.repeat]
 */
export async function giveKey(
  db: Queryable,
  credential: Credential,
  message: MessageSend,
  now: number,
): Promise<string> {
  const { sameSendWithinMs } = ASSUMPTIONS.toolSend.value;
  await db.query(
    `DELETE FROM platform.given_keys WHERE (workspace_id, fingerprint) IN (
       SELECT workspace_id, fingerprint FROM platform.given_keys WHERE expires_at <= $1 LIMIT $2
       FOR UPDATE SKIP LOCKED)`,
    [now, FORGOTTEN_AT_ONCE],
  );
  const fresh = randomUUID();
  const [given] = await db.query<{ idempotency_key: string }>(
    `INSERT INTO platform.given_keys AS known (workspace_id, fingerprint, idempotency_key, expires_at)
     VALUES ($1, $2, $3, $4)
     ON CONFLICT (workspace_id, fingerprint) DO UPDATE SET
       idempotency_key = CASE WHEN known.expires_at > $5 THEN known.idempotency_key
         ELSE excluded.idempotency_key END,
       expires_at = excluded.expires_at
     RETURNING idempotency_key`,
    [credential.workspaceId, fingerprintOf(credential, message), fresh, now + sameSendWithinMs, now],
  );
  return given?.idempotency_key ?? fresh;
}
