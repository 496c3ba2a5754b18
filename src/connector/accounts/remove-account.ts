import type { Database } from '../../runtime/database/database.ts';
import { releaseConnections } from '../db/connection-rows.ts';

/** What belongs to an account alone and is worth nothing without it, by its `account_id`. */
const TABLES = ['coverage', 'poll_states', 'gaps', 'sweeps', 'repairs', 'repair_totals', 'quotas'] as const;

/** What is left of an account that was removed. */
export interface RemovedAccount {
  /** The refresh token of its grant, to be revoked; null: it had none. */
  readonly sealedRefreshToken: string | null;
}

/**
 * Forgets an account, its credential and its webhook path. Messages, connections and changes stay, they are
 * the CRM's history; its connections are hidden, and another account that lists one of them takes it over.
 * Whoever polls or registers for it loses the lease, so nothing is written for it afterwards. The webhook path of an
 * OAuth app stays: other grants share it.
 * Null when there is no such account. Throws what the database throws.
 */
export async function removeAccount(
  database: Database,
  accountId: string,
  now: number,
): Promise<RemovedAccount | null> {
  return await database.transaction(async (tx) => {
    const [account] = await tx.query<{ subscriptionId: string }>(
      'delete from connector.accounts where id = $1 returning subscription_id as "subscriptionId"',
      [accountId],
    );
    if (account === undefined) return null;
    const owned = await tx.query<{ id: string }>(
      'delete from connector.subscriptions where id = $1 and account_id = $2 returning id',
      [account.subscriptionId, accountId],
    );
    await tx.query('delete from connector.leases where name = any($1::text[])', [
      [`poll:${accountId}`, ...owned.map(({ id }) => `registration:${id}`)],
    ]);
    const [grant] = await tx.query<{ sealed: string | null }>(
      'delete from connector.oauth_grants where account_id = $1 returning sealed_refresh_token as sealed',
      [accountId],
    );
    for (const table of TABLES) {
      await tx.query(`delete from connector.${table} where account_id = $1`, [accountId]);
    }
    await releaseConnections(tx, accountId, now);
    return { sealedRefreshToken: grant?.sealed ?? null };
  });
}
