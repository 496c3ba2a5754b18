import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import { createServiceClient, type ServiceClient } from '../service-client/service-client.ts';
import { type Account, openCredential } from './account-store.ts';

/**
 * Where the bearer token of a call comes from. A port: an API key never changes while its account stands, an
 * access token of an OAuth grant is renewed behind this same call.
 */
export interface CredentialSource {
  /** The token of the moment. Throws what the database or the key ring throws. */
  authorization(): Promise<string>;
}

export interface CredentialOptions {
  readonly database: Database;
  readonly keyRing: KeyRing;
  readonly clock: Clock;
}

/** The account has no credential, or one of a kind that this version cannot use. */
export class NoCredential extends Error {
  override readonly name = 'NoCredential';
}

/** The credential of an account, opened once and when it is first needed. Implements `Authentication`. */
export function credentialOf(options: CredentialOptions, account: Account): CredentialSource {
  switch (account.kind) {
    case 'api_key':
      return apiKeyOf(options, account.id);
    case 'oauth':
      return {
        authorization: () => Promise.reject(new NoCredential('grants of an OAuth app are not supported yet')),
      };
  }
}

function apiKeyOf({ database, keyRing }: CredentialOptions, accountId: string): CredentialSource {
  let opened: Promise<string> | undefined;
  const open = async (): Promise<string> => {
    const key = await openCredential(database, keyRing, accountId);
    if (key === null) throw new NoCredential('the account has no credential');
    return key;
  };
  return {
    authorization() {
      opened ??= open().catch((error: unknown) => {
        opened = undefined;
        throw error;
      });
      return opened;
    },
  };
}

/** A client of the service for an account, with its credential as it is stored now. Make one for each task. */
export function clientOf(options: CredentialOptions, account: Account): ServiceClient {
  const credential = credentialOf(options, account);
  return createServiceClient({
    baseUrl: account.baseUrl ?? '',
    token: () => credential.authorization(),
    clock: options.clock,
  });
}
