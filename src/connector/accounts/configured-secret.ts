import type { Database } from '../../runtime/database/database.ts';
import { equalSecrets } from '../../runtime/sealing/equal-secrets.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import { secretContext } from '../db/sealed-columns.ts';

export interface ConfiguredSecret {
  readonly database: Database;
  readonly keyRing: KeyRing;
  readonly subscriptionId: string;
  readonly secret: string;
  readonly now: number;
}

/**
 * Puts a signing secret of the configuration into its subscription. It replaces the stored one only when it is another
 * than the configuration named before: a registration made since then has issued a newer one. True when it did. Of processes that start
 * at once with different secrets one has its way; none replaces anything while it runs.
 * Throws a `SealingError` when the stored one was sealed with a key that is not in the ring.
 */
export async function storeConfiguredSecret(options: ConfiguredSecret): Promise<boolean> {
  const { database, keyRing, subscriptionId, secret, now } = options;
  const [stored] = await database.query<{ sealed: string | null }>(
    'select sealed_configured_secret as sealed from connector.subscriptions where id = $1',
    [subscriptionId],
  );
  const context = secretContext(subscriptionId);
  if (await opensTo(keyRing, stored?.sealed ?? null, context, secret)) return false;
  const rows = await database.query(
    `update connector.subscriptions
     set sealed_secret = $2, sealed_configured_secret = $2, secret_version = secret_version + 1,
         sealed_previous_secret = null, previous_max_timestamp = null, previous_accept_until = null,
         rotation_pending_owner = null, rotation_pending_at = null, rotation_call_at = null,
         rotation_compromised = false, registered_at = $3
     where id = $1 and sealed_configured_secret is not distinct from $4 returning id`,
    [subscriptionId, await keyRing.seal(secret, context), now, stored?.sealed ?? null],
  );
  return rows.length > 0;
}

/** Whether a sealed value holds this plain one. Throws a `SealingError`, see above. */
export async function opensTo(
  keyRing: KeyRing,
  sealed: string | null,
  context: string,
  plain: string,
): Promise<boolean> {
  return sealed !== null && equalSecrets(await keyRing.open(sealed, context), plain);
}
