import { and, eq } from 'drizzle-orm';
import type { Database } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { releaseConnections } from '../db/connection-rows.ts';
import * as tables from '../db/schema.ts';
import { revokeLeases } from '../work/presence.ts';
import { POLL } from './poll-state.ts';
import { REGISTRATION } from './subscription-store.ts';

const { accounts, oauthGrants, subscriptions } = tables;
/** What belongs to one account only and is useless without it. */
const OF_ACCOUNT = [
  tables.coverage,
  tables.pollStates,
  tables.gaps,
  tables.sweeps,
  tables.repairs,
  tables.repairTotals,
  tables.quotas,
  oauthGrants,
];

/** What remains of a removed account. */
export interface RemovedAccount {
  /** The refresh token of its grant, to be revoked; null if it had none. */
  readonly sealedRefreshToken: string | null;
}

/**
 * Deletes an account, its credential and its webhook path. Messages, connections and changes are kept, because
 * they are the CRM's history; its connections are hidden, and another account that lists one of them, or receives
 * an event of one, takes it over. Processes that poll or register for it lose the lease, so nothing is written for it
 * afterwards. The webhook path of an OAuth app is kept: other grants share it. Null if the account does not exist.
 * Throws what the database throws.
 */
export async function removeAccount(
  database: Database,
  accountId: string,
  now: number,
): Promise<RemovedAccount | null> {
  return await database.transaction(async (tx) => {
    const db = orm(tx);
    const [account] = await db
      .delete(accounts)
      .where(eq(accounts.id, accountId))
      .returning({ subscriptionId: accounts.subscriptionId });
    if (account === undefined) return null;
    const owned = await db
      .delete(subscriptions)
      .where(and(eq(subscriptions.id, account.subscriptionId), eq(subscriptions.accountId, accountId)))
      .returning({ id: subscriptions.id });
    await revokeLeases(tx, [`${POLL}:${accountId}`, ...owned.map(({ id }) => `${REGISTRATION}:${id}`)]);
    const [grant] = await db
      .select({ sealed: oauthGrants.sealedRefreshToken })
      .from(oauthGrants)
      .where(eq(oauthGrants.accountId, accountId))
      .for('update');
    for (const table of OF_ACCOUNT) await orm(tx).delete(table).where(eq(table.accountId, accountId));
    await releaseConnections(tx, accountId, now);
    return { sealedRefreshToken: grant?.sealed ?? null };
  });
}
