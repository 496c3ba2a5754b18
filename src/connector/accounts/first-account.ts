import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import { credentialContext, FIRST_ACCOUNT_ID, FIRST_SUBSCRIPTION_ID } from './account-store.ts';
import { AccountExists, digestOf, findByKey } from './add-account.ts';
import { opensTo, storeConfiguredSecret } from './configured-secret.ts';

export interface FirstAccountOptions {
  readonly database: Database;
  readonly keyRing: KeyRing;
  readonly clock: Clock;
  /** Absent: this process does not know it. A stored credential stays, other processes may use it. */
  readonly service?: { readonly baseUrl: string; readonly apiKey: string } | undefined;
  /** Signing secret of a webhook that was registered by hand. */
  readonly webhookSecret?: string | undefined;
}

/**
 * Brings the account that the configuration names into the database, with its subscription. Safe to run in
 * every process at once: what is there already stays untouched.
 * Throws a `SealingError` when a stored secret was sealed with a key that is not in the ring. It is not
 * overwritten then, since the other processes may well be able to open it. Throws `AccountExists` when the API
 * key was added as another account through the API.
 */
export async function ensureFirstAccount(options: FirstAccountOptions): Promise<void> {
  const { database, keyRing, clock, service, webhookSecret } = options;
  if (service === undefined && webhookSecret === undefined) return;
  const now = clock.now();
  await database.query(
    `insert into connector.subscriptions (id, account_id, is_first) values ($1, $2, true) on conflict do nothing`,
    [FIRST_SUBSCRIPTION_ID, FIRST_ACCOUNT_ID],
  );
  await database.query(
    `insert into connector.accounts (id, kind, subscription_id, created_at)
     values ($1, 'api_key', $2, $3) on conflict do nothing`,
    [FIRST_ACCOUNT_ID, FIRST_SUBSCRIPTION_ID, now],
  );
  if (service !== undefined) await storeCredential(options, service);
  if (webhookSecret === undefined) return;
  const subscriptionId = FIRST_SUBSCRIPTION_ID;
  await storeConfiguredSecret({ database, keyRing, subscriptionId, secret: webhookSecret, now });
}

async function storeCredential(
  { database, keyRing }: FirstAccountOptions,
  service: { readonly baseUrl: string; readonly apiKey: string },
): Promise<void> {
  const [stored] = await database.query<{ baseUrl: string | null; sealed: string | null }>(
    'select base_url as "baseUrl", sealed_credential as sealed from connector.accounts where id = $1',
    [FIRST_ACCOUNT_ID],
  );
  const context = credentialContext(FIRST_ACCOUNT_ID);
  const known = await opensTo(keyRing, stored?.sealed ?? null, context, service.apiKey);
  if (known && stored?.baseUrl === service.baseUrl) return;
  const owner = await findByKey(database, service.apiKey);
  if (owner !== null && owner !== FIRST_ACCOUNT_ID) throw new AccountExists(owner);
  await database.query(
    `update connector.accounts
     set base_url = $2, sealed_credential = $3, credential_digest = $4, credential_version = credential_version + 1
     where id = $1`,
    [
      FIRST_ACCOUNT_ID,
      service.baseUrl,
      await keyRing.seal(service.apiKey, context),
      digestOf(service.apiKey),
    ],
  );
}
