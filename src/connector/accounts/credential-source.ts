import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import { NETWORK_FETCH, type ServiceCallerOptions } from '../service-client/call-service.ts';
import { createServiceClient, type ServiceClient } from '../service-client/service-client.ts';
import { type Account, openCredential } from './account-store.ts';

/**
 * Provides the bearer token of a call, and another one if the service refuses it. An API key never changes during the
 * life of its account, while an access token of an OAuth grant is renewed.
 */
export interface CredentialSource extends Pick<ServiceCallerOptions, 'renew' | 'onRefusedAgain'> {
  /** The current token. Throws what the database or the key ring throws, and a `ServiceError` for a grant. */
  readonly token: () => Promise<string>;
}

/** Provides the access tokens of grants. */
export interface GrantSources {
  of(accountId: string): CredentialSource;
}

export interface CredentialOptions {
  readonly database: Database;
  readonly keyRing: KeyRing;
  readonly clock: Clock;
  /** Absent: this process has no OAuth app, so it cannot use its grants. */
  readonly grants?: GrantSources | undefined;
}

/** The account has no credential, or one of a kind that this process cannot use. */
export class NoCredential extends Error {
  override readonly name = 'NoCredential';
}

/** The credential of an account, decrypted when it is first needed. */
export function credentialOf(options: CredentialOptions, account: Account): CredentialSource {
  if (account.kind === 'api_key') return apiKeyOf(options, account.id);
  if (options.grants !== undefined) return options.grants.of(account.id);
  return { token: () => Promise.reject(new NoCredential('this process has no OAuth app')) };
}

function apiKeyOf({ database, keyRing }: CredentialOptions, accountId: string): CredentialSource {
  let opened: Promise<string> | undefined;
  const open = async (): Promise<string> => {
    const key = await openCredential(database, keyRing, accountId);
    if (key === null) throw new NoCredential('the account has no credential');
    return key;
  };
  return {
    token() {
      opened ??= open().catch((error: unknown) => {
        opened = undefined;
        throw error;
      });
      return opened;
    },
  };
}

/** A client of the service with the currently stored credential of an account. Create one for each task. */
export function clientOf(options: CredentialOptions, account: Account): ServiceClient {
  return clientWith(credentialOf(options, account), account, options.clock);
}

/** A client of the service of an account, with any credential. */
export function clientWith(
  credential: CredentialSource,
  { baseUrl, network }: Pick<Account, 'baseUrl' | 'network'>,
  clock: Clock,
): ServiceClient {
  const service = { baseUrl: baseUrl ?? '', fetch: NETWORK_FETCH[network ?? 'any'] };
  return createServiceClient({ ...credential, ...service, clock });
}
