import { randomUUID } from 'node:crypto';
import type { Clock } from '../../runtime/clock/clock.ts';
import { findNetwork } from '../../runtime/public-network/check-host.ts';
import { lookupHost, lookupWithin } from '../../runtime/public-network/host-lookup.ts';
import type { Network } from '../../runtime/public-network/public-address.ts';
import { digest } from '../../runtime/sealing/digest.ts';
import { credentialContext } from '../db/sealed-columns.ts';
import { NETWORK_FETCH } from '../service-client/call-service.ts';
import { createServiceClient } from '../service-client/service-client.ts';
import { ServiceUnreachable } from '../service-client/service-errors.ts';
import { findByKey, insertAccount } from './account-store.ts';
import type { CredentialOptions } from './credential-source.ts';
import { storeQuota } from './quota.ts';
import { addSubscription } from './subscription-store.ts';

const LOOKUP_WITHIN_MS = 10_000;

/** An account with this key exists already. */
export class AccountExists extends Error {
  override readonly name = 'AccountExists';
  readonly accountId: string;

  constructor(accountId: string) {
    super(`the API key already belongs to the account ${accountId}`);
    this.accountId = accountId;
  }
}

/** A service and a key to be added. */
export interface AddedService {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** The host is not in the settings, so it must have a public address. */
  readonly publicOnly: boolean;
}

/**
 * Stores an API key as an account with its own webhook path, once a call has shown that the service accepts it.
 * The network of the service is stored as well: later calls never leave it, even if the name resolves
 * differently by then. Resolves with the account's id. Throws `AccountExists`, a `ServiceError`, or what the
 * database throws.
 */
export async function addAccount(options: CredentialOptions, service: AddedService): Promise<string> {
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
  const figures = await client.readAccount();
  const id = await store(options, { ...service, baseUrl, network });
  await storeQuota(database, id, figures, clock.now());
  return id;
}

/** Throws `ServiceUnreachable` for a name that does not resolve, or resolves to both networks. */
async function networkOf(baseUrl: string, clock: Clock): Promise<Network> {
  const host = new URL(baseUrl).hostname.replace(/^\[|\]$|\.$/g, '');
  const lookup = lookupWithin(lookupHost, clock, LOOKUP_WITHIN_MS);
  return await findNetwork(host, lookup).catch((error: unknown) => {
    throw new ServiceUnreachable('connect', error);
  });
}

async function store(
  { database, keyRing, clock }: CredentialOptions,
  {
    baseUrl,
    apiKey,
    network,
  }: { readonly baseUrl: string; readonly apiKey: string; readonly network: Network },
): Promise<string> {
  const [id, subscriptionId] = [randomUUID(), randomUUID()];
  const account = {
    ...{ id, kind: 'api_key' as const, baseUrl, network, subscriptionId, createdAt: clock.now() },
    sealedCredential: await keyRing.seal(apiKey, credentialContext(id)),
    credentialDigest: digest(apiKey),
  };
  const isNew = await database.transaction(async (tx) => {
    const added = await insertAccount(tx, account);
    if (added) await addSubscription(tx, { id: subscriptionId, accountId: id });
    return added;
  });
  if (isNew) return id;
  throw new AccountExists((await findByKey(database, apiKey)) ?? 'that was just added');
}
