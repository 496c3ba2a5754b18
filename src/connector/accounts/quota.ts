import { eq } from 'drizzle-orm';
import type { ReadAccount } from '../../contract/service/read-answers.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import type { Base } from '../db/base.ts';
import { accounts, quotas } from '../db/schema.ts';
import type { ServiceClient } from '../service-client/service-client.ts';
import { dueAtOf } from '../work/planned.ts';
import type { Account } from './account-store.ts';

/** Slots change only through payments, pairings and deletions, so they are read rarely. */
const READ_EVERY_MS = 5 * 60_000;

/** The last response of `GET /account`. Times in epoch milliseconds. */
export type Quota = Readonly<typeof quotas.$inferSelect>;

/**
 * Stores the figures that the service has just reported for an account. If one of them could not be read, the
 * previous figures remain: a count that is not known must not look like 0.
 */
export async function storeQuota(
  db: Queryable,
  accountId: string,
  { slots, connections }: ReadAccount,
  now: number,
): Promise<void> {
  const counts = {
    slotsTotal: slots?.total ?? null,
    slotsUsed: slots?.used ?? null,
    slotsAvailable: slots?.available ?? null,
    connectionsTotal: connections?.total ?? null,
    connectionsConnected: connections?.connected ?? null,
    connectionsNeedReconnect: connections?.needsReconnect ?? null,
  };
  if (!areKnown(counts)) return;
  const figures = { ...counts, nextExpiry: slots?.nextExpiry ?? null, readAt: now };
  // Nothing is stored for an account that was removed in the meantime.
  const [account] = await orm(db)
    .select({ id: accounts.id })
    .from(accounts)
    .where(eq(accounts.id, accountId));
  if (account === undefined) return;
  await orm(db)
    .insert(quotas)
    .values({ accountId, ...figures })
    .onConflictDoUpdate({ target: quotas.accountId, set: figures });
}

function areKnown<Name extends string>(
  counts: Readonly<Record<Name, number | null>>,
): counts is Readonly<Record<Name, number>> {
  return Object.values(counts).every((count) => count !== null);
}

/** Reads the figures of an account again if they are old. A failure is logged: a poll does not need them. */
export async function refreshQuota(
  { database, clock, logger }: Base,
  client: ServiceClient,
  { id, quota }: Account,
  signal: AbortSignal,
): Promise<void> {
  const now = clock.now();
  if (quota !== null && dueAtOf(quota.readAt + READ_EVERY_MS, now, READ_EVERY_MS) > now) return;
  try {
    await storeQuota(database, id, await client.readAccount(signal), clock.now());
  } catch (err) {
    if (!signal.aborted) logger.warn({ err, accountId: id }, 'the slots of an account could not be read');
  }
}

/** Of every account whose figures were read. */
export async function readQuotas(db: Queryable): Promise<Quota[]> {
  return await orm(db).select().from(quotas);
}
