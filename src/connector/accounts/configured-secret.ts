import type { Database } from '../../runtime/database/database.ts';
import { equalSecrets } from '../../runtime/sealing/equal-secrets.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import { secretContext } from '../db/sealed-columns.ts';
import { readSubscription, storeConfigured } from './subscription-store.ts';

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
  const before = (await readSubscription(database, subscriptionId))?.configured ?? null;
  const context = secretContext(subscriptionId);
  if (await opensTo(keyRing, before, context, secret)) return false;
  const sealed = await keyRing.seal(secret, context);
  return await storeConfigured(database, subscriptionId, { sealed, before, now });
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
