import { type Account, readAccount } from '../accounts/account-store.ts';
import { type CredentialOptions, clientWith, credentialOf } from '../accounts/credential-source.ts';
import type { ServiceClient } from '../service-client/service-client.ts';
import { ServiceError } from '../service-client/service-errors.ts';

/**
 * A client that may send, or why there is none: the account is `gone`, sends in other processes (`elsewhere`), or
 * has no token at the moment (`paused`), because its customer must consent again or the authorization server fails.
 */
export type SendingClient = ServiceClient | 'gone' | 'elsewhere' | 'paused';

export interface OpenClientOptions extends CredentialOptions {
  /** Whether this process may use the credential of an account. */
  readonly mayUse: (account: Account) => boolean;
}

/**
 * Opens the credential of an account before an attempt begins: what fails afterwards counts as an answer that
 * was lost. Throws what the database, the key ring or the credential throws.
 */
export async function openSendingClient(
  options: OpenClientOptions,
  accountId: string,
): Promise<SendingClient> {
  const account = await readAccount(options.database, accountId);
  if (account === null) return 'gone';
  if (!account.hasCredential || !options.mayUse(account)) return 'elsewhere';
  if (account.awaitsConsent) return 'paused';
  const credential = credentialOf(options, account);
  try {
    const token = await credential.authorization();
    return clientWith({ ...credential, authorization: async () => token }, account, options.clock);
  } catch (error) {
    if (error instanceof ServiceError) return 'paused';
    throw error;
  }
}
