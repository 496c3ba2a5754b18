import { eq } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import type { Network } from '../../runtime/public-network/public-address.ts';
import { accounts } from '../db/schema.ts';

/** The service of an account, as a source of files. */
export interface OwnService {
  /** Scheme, host and port of its base address. */
  readonly origin: string;
  /**
   * The network that it was on when the account was added; null if the settings configure it, wherever it is.
   */
  readonly network: Network | null;
}

/**
 * The service of an account; null if the account does not exist or never calls a service. Throws what `query`
 * throws.
 */
export async function readOwnService(db: Queryable, accountId: string): Promise<OwnService | null> {
  const { id, baseUrl, network } = accounts;
  const [row] = await orm(db).select({ baseUrl, network }).from(accounts).where(eq(id, accountId));
  const url = row?.baseUrl ?? null;
  return row === undefined || url === null ? null : { origin: new URL(url).origin, network: row.network };
}
