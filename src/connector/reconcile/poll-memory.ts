import type { Account } from '../accounts/account-store.ts';
import { type CredentialOptions, clientOf } from '../accounts/credential-source.ts';
import type { ServiceClient } from '../service-client/service-client.ts';
import type { SettledPolls } from './quiet-polls.ts';

/** What a process keeps between the polls of its accounts. Nothing depends on it but time. */
export interface PollMemory {
  readonly settled: SettledPolls;
  /** The client of an account; the same one as long as its API key and address are the same. */
  clientOf(options: CredentialOptions, account: Account): ServiceClient;
  forget(accountId: string): void;
}

export function createPollMemory(): PollMemory {
  const settled: SettledPolls = new Map();
  const clients = new Map<string, { readonly of: string; readonly client: ServiceClient }>();
  return {
    settled,
    clientOf(options, account) {
      // The token of a grant changes.
      if (account.kind !== 'api_key') return clientOf(options, account);
      const of = [account.credentialVersion, account.network, account.baseUrl].join(' ');
      const known = clients.get(account.id);
      if (known?.of === of) return known.client;
      const client = clientOf(options, account);
      clients.set(account.id, { of, client });
      return client;
    },
    forget(accountId) {
      settled.delete(accountId);
      clients.delete(accountId);
    },
  };
}
