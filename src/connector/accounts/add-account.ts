import { createHash, randomUUID } from 'node:crypto';
import type { Queryable } from '../../runtime/database/database.ts';
import { createServiceClient } from '../service-client/service-client.ts';
import { credentialContext } from './account-store.ts';
import type { CredentialOptions } from './credential-source.ts';
import { storeQuota } from './quota.ts';

/** The key belongs to an account already. */
export class AccountExists extends Error {
  override readonly name = 'AccountExists';
  readonly accountId: string;

  constructor(accountId: string) {
    super(`the API key belongs to the account ${accountId} already`);
    this.accountId = accountId;
  }
}

/**
 * What tells two API keys apart without keeping either. A key is long and random, so its plain hash gives
 * nothing away; the service keeps no more of it.
 */
export function digestOf(apiKey: string): string {
  return createHash('sha256').update(apiKey, 'utf8').digest('base64url');
}

/** The account that has this key; null when none has. */
export async function findByKey(db: Queryable, apiKey: string): Promise<string | null> {
  const [row] = await db.query<{ id: string }>(
    'select id from connector.accounts where credential_digest = $1',
    [digestOf(apiKey)],
  );
  return row?.id ?? null;
}

/**
 * Keeps an API key as an account with a webhook path of its own, once a call has shown that the service takes
 * it. Resolves with the account's id. Throws `AccountExists`, a `ServiceError`, or what the database throws.
 */
export async function addAccount(
  options: CredentialOptions,
  service: { readonly baseUrl: string; readonly apiKey: string },
  signal?: AbortSignal,
): Promise<string> {
  const { database, clock } = options;
  const baseUrl = service.baseUrl.replace(/\/+$/, '');
  const known = await findByKey(database, service.apiKey);
  if (known !== null) throw new AccountExists(known);
  const client = createServiceClient({ baseUrl, token: () => service.apiKey, clock });
  const figures = await client.readAccount(signal);
  const id = await insertAccount(options, { ...service, baseUrl });
  await storeQuota(database, id, figures, clock.now());
  return id;
}

async function insertAccount(
  { database, keyRing, clock }: CredentialOptions,
  service: { readonly baseUrl: string; readonly apiKey: string },
): Promise<string> {
  const id = randomUUID();
  const rows = await database.query(
    `with added as (
       insert into connector.accounts
         (id, kind, base_url, sealed_credential, credential_digest, subscription_id, created_at)
       values ($1, 'api_key', $2, $3, $4, $5, $6) on conflict (credential_digest) do nothing
       returning id, subscription_id)
     insert into connector.subscriptions (id, account_id) select subscription_id, id from added returning id`,
    [
      id,
      service.baseUrl,
      await keyRing.seal(service.apiKey, credentialContext(id)),
      digestOf(service.apiKey),
      randomUUID(),
      clock.now(),
    ],
  );
  if (rows.length > 0) return id;
  throw new AccountExists((await findByKey(database, service.apiKey)) ?? 'that was just added');
}
