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
 * Stores the signing secret of the settings in its subscription. It replaces the stored one only if it differs
 * from the one in the settings before: a registration since then has issued a newer secret. True if it did. If
 * processes start at the same time with different secrets, one of them succeeds; none replaces anything later.
 * Throws a `SealingError` if the stored secret was sealed with a key that is not in the key ring.
 */
export async function storeConfiguredSecret(options: ConfiguredSecret): Promise<boolean> {
  const { database, keyRing, subscriptionId, secret, now } = options;
  const before = (await readSubscription(database, subscriptionId))?.configured ?? null;
  const context = secretContext(subscriptionId);
  if (await opensTo(keyRing, before, context, secret)) return false;
  const sealed = await keyRing.seal(secret, context);
  return await storeConfigured(database, subscriptionId, { sealed, before, now });
}

/** Whether a sealed value contains this plain one. Throws a `SealingError`, see above. */
export async function opensTo(
  keyRing: KeyRing,
  sealed: string | null,
  context: string,
  plain: string,
): Promise<boolean> {
  return sealed !== null && equalSecrets(await keyRing.open(sealed, context), plain);
}
