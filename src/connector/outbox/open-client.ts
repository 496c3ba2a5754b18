import { type Account, readAccount } from '../accounts/account-store.ts';
import { type CredentialOptions, credentialOf } from '../accounts/credential-source.ts';
import { createServiceClient, type ServiceClient } from '../service-client/service-client.ts';

/** A client that may send, or why there is none: the account is `gone`, or sends in other processes. */
export type SendingClient = ServiceClient | 'gone' | 'elsewhere';

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
  const token = await credentialOf(options, account).authorization();
  return createServiceClient({ baseUrl: account.baseUrl ?? '', token: () => token, clock: options.clock });
}
