import { randomUUID } from 'node:crypto';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { findNetwork } from '../../runtime/public-network/check-host.ts';
import { lookupHost, lookupWithin } from '../../runtime/public-network/host-lookup.ts';
import type { Network } from '../../runtime/public-network/public-address.ts';
import { digest } from '../../runtime/sealing/digest.ts';
import { credentialContext } from '../db/sealed-columns.ts';
import { NETWORK_FETCH } from '../service-client/network-fetch.ts';
import { createServiceClient } from '../service-client/service-client.ts';
import { ServiceUnreachable } from '../service-client/service-errors.ts';
import type { CredentialOptions } from './credential-source.ts';
import { storeQuota } from './quota.ts';

const LOOKUP_WITHIN_MS = 10_000;

/** The key belongs to an account already. */
export class AccountExists extends Error {
  override readonly name = 'AccountExists';
  readonly accountId: string;

  constructor(accountId: string) {
    super(`the API key belongs to the account ${accountId} already`);
    this.accountId = accountId;
  }
}

/** The account that has this key; null when none has. */
export async function findByKey(db: Queryable, apiKey: string): Promise<string | null> {
  const [row] = await db.query<{ id: string }>(
    'select id from connector.accounts where credential_digest = $1',
    [digest(apiKey)],
  );
  return row?.id ?? null;
}

/** A service and a key that somebody wants to add. */
export interface AddedService {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Nobody vouches for its host, so it must be on the internet. */
  readonly publicOnly: boolean;
}

/**
 * Keeps an API key as an account with a webhook path of its own, once a call has shown that the service takes
 * it. On which network the service lies is kept as well: no later call leaves it, whatever its name leads to by then.
 * Resolves with the account's id. Throws `AccountExists`, a `ServiceError`, or what the database throws.
 */
export async function addAccount(
  options: CredentialOptions,
  service: AddedService,
  signal?: AbortSignal,
): Promise<string> {
  const { database, clock } = options;
  const baseUrl = service.baseUrl.replace(/\/+$/, '');
  const known = await findByKey(database, service.apiKey);
  if (known !== null) throw new AccountExists(known);
  const network = await networkOf(baseUrl, clock);
  if (service.publicOnly && network !== 'public') throw new ServiceUnreachable('connect');
  const client = createServiceClient({
    baseUrl,
    token: () => service.apiKey,
    fetch: NETWORK_FETCH[network],
    clock,
  });
  const figures = await client.readAccount(signal);
  const id = await insertAccount(options, { ...service, baseUrl, network });
  await storeQuota(database, id, figures, clock.now());
  return id;
}

/** Throws `ServiceUnreachable` for a name that leads nowhere, or to both networks. */
async function networkOf(baseUrl: string, clock: Clock): Promise<Network> {
  const host = new URL(baseUrl).hostname.replace(/^\[|\]$|\.$/g, '');
  const lookup = lookupWithin(lookupHost, clock, LOOKUP_WITHIN_MS);
  return await findNetwork(host, lookup).catch((error: unknown) => {
    throw new ServiceUnreachable('connect', error);
  });
}

async function insertAccount(
  { database, keyRing, clock }: CredentialOptions,
  service: { readonly baseUrl: string; readonly apiKey: string; readonly network: Network },
): Promise<string> {
  const id = randomUUID();
  const rows = await database.query(
    `with added as (
       insert into connector.accounts
         (id, kind, base_url, sealed_credential, credential_digest, subscription_id, created_at, network)
       values ($1, 'api_key', $2, $3, $4, $5, $6, $7) on conflict (credential_digest) do nothing
       returning id, subscription_id)
     insert into connector.subscriptions (id, account_id) select subscription_id, id from added returning id`,
    [
      id,
      service.baseUrl,
      await keyRing.seal(service.apiKey, credentialContext(id)),
      digest(service.apiKey),
      randomUUID(),
      clock.now(),
      service.network,
    ],
  );
  if (rows.length > 0) return id;
  throw new AccountExists((await findByKey(database, service.apiKey)) ?? 'that was just added');
}
