import { and, isNotNull } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { claimingSubscription } from '../accounts/subscription-secrets.ts';
import type { RawDelivery } from '../db/facts.ts';
import { connections } from '../db/schema.ts';

/**
 * An event of a shared subscription belongs to the account of its connection, if that is one of its accounts. Otherwise it
 * stays unclaimed, also if there is only one account: the service may deliver for a customer whose consent is not stored
 * yet, or who was removed.
 */
const OWNERS = `
  select w.subscription_id as "subscriptionId", w.connection_id as "connectionId", a.id as "accountId"
    from unnest($1::text[], $2::text[]) as w(subscription_id, connection_id)
    join connector.connections c on c.connection_id = w.connection_id
    join connector.accounts a on a.id = c.account_id and a.subscription_id = w.subscription_id`;

/**
 * Returns the same deliveries in the same order, those of shared subscriptions with the account of their
 * connection. Costs one query for a batch that contains such deliveries, and none otherwise. Throws what the
 * database throws.
 */
export async function assignAccounts(
  db: Queryable,
  deliveries: readonly RawDelivery[],
  deadlineMs: number,
): Promise<readonly RawDelivery[]> {
  const open = deliveries.filter((delivery) => connectionToClaim(delivery) !== undefined);
  if (open.length === 0) return deliveries;
  const wanted = new Map(open.map((delivery) => [keyOf(delivery), delivery]));
  const rows = await db.query<{ subscriptionId: string; connectionId: string; accountId: string }>(
    OWNERS,
    [
      [...wanted.values()].map(({ subscriptionId }) => subscriptionId),
      [...wanted.values()].map((delivery) => connectionToClaim(delivery)),
    ],
    { deadlineMs },
  );
  const owners = new Map(rows.map((row) => [`${row.subscriptionId}\n${row.connectionId}`, row.accountId]));
  return deliveries.map((delivery) => {
    const accountId = owners.get(keyOf(delivery));
    return accountId === undefined ? delivery : assign(delivery, accountId);
  });
}

function connectionToClaim(delivery: RawDelivery): string | undefined {
  if (claimingSubscription(delivery.accountId) === null) return undefined;
  return (delivery.message ?? delivery.connection)?.connectionId;
}

function keyOf(delivery: RawDelivery): string {
  return `${delivery.subscriptionId}\n${connectionToClaim(delivery) ?? ''}`;
}

function assign(delivery: RawDelivery, accountId: string): RawDelivery {
  const { message, connection } = delivery;
  return {
    ...delivery,
    accountId,
    ...(message === undefined ? {} : { message: { ...message, accountId } }),
    ...(connection === undefined ? {} : { connection: { ...connection, accountId } }),
  };
}

/** More connections than this are looked up again from time to time. */
const MAX_SEEN = 100_000;

/**
 * Returns a function that finds, among committed deliveries, the accounts of connections of which no number is known, or
 * that no account has claimed. The service sends no event when a connection is paired for the first time: only its list
 * has the number, and shows whose it is. Each connection is looked up, and its account found, once in a process: the list
 * may not have it either, as that of a customer who was removed, all of whose messages still arrive.
 */
export function createNewConnections(db: Queryable) {
  const seen = new Set<string>();
  return async (deliveries: readonly RawDelivery[]): Promise<ReadonlySet<string>> => {
    const accounts = new Map(
      deliveries.flatMap(({ accountId, message }) =>
        message === undefined || seen.has(message.connectionId)
          ? []
          : [[message.connectionId, accountId] as const],
      ),
    );
    if (accounts.size === 0) return new Set();
    const numbered = await orm(db)
      .select({ id: connections.connectionId })
      .from(connections)
      .where(
        and(isAnyOf(connections.connectionId, [...accounts.keys()]), isNotNull(connections.phoneNumber)),
      );
    if (seen.size > MAX_SEEN) seen.clear();
    for (const id of accounts.keys()) seen.add(id);
    for (const { id } of numbered)
      if (claimingSubscription(accounts.get(id) ?? '') === null) accounts.delete(id);
    return new Set(accounts.values());
  };
}
