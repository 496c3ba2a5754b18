import { type Account, readAccount } from '../accounts/account-store.ts';
import { type MirrorRow, readMirrorRow } from '../db/connection-rows.ts';
import type { ServiceClient } from '../service-client/service-client.ts';
import { invalid, notFound } from './api-error.ts';
import type { ApiParts } from './operations.ts';
import { chooseAccount } from './service-failure.ts';

/** Where to send a call that concerns one connection. */
export interface ServiceTarget {
  readonly accountId: string;
  readonly client: ServiceClient;
  /** What the mirror contained before the call; null for nothing. */
  readonly row: MirrorRow | null;
}

/** The client of an account. Throws an `ApiError` if this process has no credential for it. */
export function requireClient({ clientOf }: ApiParts, account: Account): ServiceClient {
  const client = clientOf(account);
  if (client === null)
    throw invalid('accountId', 'has no credential in this process, so the service cannot be called');
  return client;
}

/**
 * Finds the account of a connection. For a connection that is not mirrored, such as one that was created
 * elsewhere and has not paired yet, it is the account that the request names, or the only account. Throws an
 * `ApiError`.
 */
export async function findTarget(
  options: ApiParts,
  connectionId: string,
  accountId?: string,
): Promise<ServiceTarget> {
  const row = await readMirrorRow(options.database, connectionId);
  if (row !== null && accountId !== undefined && row.accountId !== accountId) throw notFound('connection');
  const account =
    row === null
      ? await chooseAccount(options.database, accountId)
      : await readAccount(options.database, row.accountId);
  if (account === null) throw notFound('connection');
  return { accountId: account.id, client: requireClient(options, account), row };
}
