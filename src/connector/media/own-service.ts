import type { Queryable } from '../../runtime/database/database.ts';
import type { Network } from '../../runtime/public-network/public-address.ts';

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
  const [row] = await db.query<{ baseUrl: string; network: Network | null }>(
    'select base_url as "baseUrl", network from connector.accounts where id = $1 and base_url is not null',
    [accountId],
  );
  return row === undefined ? null : { origin: new URL(row.baseUrl).origin, network: row.network };
}
