import { type Account, hostOf, noteRefused, readAccount } from '../accounts/account-store.ts';
import { type CredentialOptions, clientWith, credentialOf } from '../accounts/credential-source.ts';
import type { ServiceClient } from '../service-client/service-client.ts';
import { isRefusal, ServiceError } from '../service-client/service-errors.ts';

/**
 * A client that may send, or why there is none: the account is `gone`, other processes send for it
 * (`elsewhere`), or it has no valid credential at the moment (`paused`): the service refuses its key, its
 * customer must consent again, or the authorization server fails.
 */
export type SendingClient = HostedClient | 'gone' | 'elsewhere' | 'paused';

export interface HostedClient extends ServiceClient {
  /** The host of its service: sends share memory and sockets by host. */
  readonly host: string;
}

export interface OpenClientOptions extends CredentialOptions {
  /** Whether this process may use the credential of an account. */
  readonly mayUse: (account: Account) => boolean;
}

/**
 * Opens the credential of an account before an attempt starts: a failure after that would count as a lost
 * answer. Throws what the database, the key ring or the credential throws.
 */
export async function openSendingClient(
  options: OpenClientOptions,
  accountId: string,
): Promise<SendingClient> {
  const account = await readAccount(options.database, accountId);
  if (account === null) return 'gone';
  if (!account.hasCredential || !options.mayUse(account)) return 'elsewhere';
  if (account.awaitsConsent || account.isRefused) return 'paused';
  const credential = credentialOf(options, account);

  /** A refused key is not used again. If this cannot be stored now, the next poll does it. */
  async function noting(error: unknown): Promise<never> {
    const isRefused = account?.kind === 'api_key' && isRefusal(error, 'invalid_key');
    if (isRefused) await noteRefused(options.database, account).catch(() => undefined);
    throw error;
  }

  try {
    const token = await credential.authorization();
    const client = clientWith({ ...credential, authorization: async () => token }, account, options.clock);
    return {
      ...client,
      host: hostOf(account),
      sendMessage: (...call) => client.sendMessage(...call).catch(noting),
    };
  } catch (error) {
    if (error instanceof ServiceError) return 'paused';
    throw error;
  }
}
