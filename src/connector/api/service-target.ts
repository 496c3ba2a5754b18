import type { Database } from '../../runtime/database/database.ts';
import { type Account, readAccount } from '../accounts/account-store.ts';
import { type MirrorRow, readMirrorRow } from '../connections/mirror-row.ts';
import type { ServiceClient } from '../service-client/service-client.ts';
import { invalid, notFound } from './api-error.ts';
import { chooseAccount } from './service-failure.ts';

export interface ServiceTargetOptions {
  readonly database: Database;
  /** A client of the service for an account; null when this process may not use its credential. */
  readonly clientOf: (account: Account) => ServiceClient | null;
}

/** Whom a call about one connection goes to. */
export interface ServiceTarget {
  readonly accountId: string;
  readonly client: ServiceClient;
  /** What the mirror knew before the call; null: nothing. */
  readonly row: MirrorRow | null;
}

/** The client of an account. Throws an `ApiError` when this process has no credential of it. */
export function requireClient({ clientOf }: ServiceTargetOptions, account: Account): ServiceClient {
  const client = clientOf(account);
  if (client === null) throw invalid('accountId', 'has no credential here, so the service cannot be called');
  return client;
}

/**
 * Finds the account of a connection. One that is not mirrored, such as one that was made elsewhere and has not
 * paired yet, is the account's that is named, or the only one's. Throws an `ApiError`.
 */
export async function findTarget(
  options: ServiceTargetOptions,
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
