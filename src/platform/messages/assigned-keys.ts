import { createHash, randomUUID } from 'node:crypto';
import { lte, sql } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import type { Credential } from '../credentials/credential.ts';
import { assignedKeys } from '../db/message-tables.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { MessageSend } from './send-messages.ts';

const DELETED_AT_ONCE = 100;

/** Uses the app instead of the grant: a client that requested more scopes in between is still the same client. */
function fingerprintOf({ subscriptionId }: Credential, { connectionId, to, text }: MessageSend): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([subscriptionId, connectionId, to, text]))
    .digest();
}

/**
 * Assigns an idempotency key to a send without one: that of the same app's last call with the same message within ten
 * minutes, otherwise a new one. A client that repeats a call after a lost answer does not know the key.
 * [choice.tools.repeat]
 */
export async function assignKey(
  db: Queryable,
  credential: Credential,
  message: MessageSend,
  now: number,
): Promise<string> {
  const sameSendWithinMs = ASSUMPTIONS.toolRepeatWithinMs.value;
  const { workspaceId, fingerprint, idempotencyKey, expiresAt } = assignedKeys;
  const over = orm(db)
    .select({ workspaceId, fingerprint })
    .from(assignedKeys)
    .where(lte(expiresAt, now))
    .limit(DELETED_AT_ONCE)
    .for('update', { skipLocked: true });
  await orm(db).delete(assignedKeys).where(sql`(${workspaceId}, ${fingerprint}) in ${over}`);
  const fresh = randomUUID();
  const until = now + sameSendWithinMs;
  const [given] = await orm(db)
    .insert(assignedKeys)
    .values({
      workspaceId: credential.workspaceId,
      fingerprint: fingerprintOf(credential, message),
      idempotencyKey: fresh,
      expiresAt: until,
    })
    .onConflictDoUpdate({
      target: [workspaceId, fingerprint],
      set: {
        idempotencyKey: sql`case when ${expiresAt} > ${now} then ${idempotencyKey} else ${fresh} end`,
        expiresAt: until,
      },
    })
    .returning({ idempotencyKey });
  return given?.idempotencyKey ?? fresh;
}
