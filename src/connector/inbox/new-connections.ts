import { and, isNotNull } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import type { RawDelivery } from '../db/facts.ts';
import { connections } from '../db/schema.ts';

/** More connections than this are looked up again from time to time. */
const MAX_SEEN = 100_000;

/**
 * Returns a function that finds, among committed deliveries, the accounts of connections of which no number is known. The
 * service sends no event when a connection is paired for the first time: only its list has the number. Each connection is
 * looked up, and its account found, once in a process: the list may not have it either.
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
    for (const { id } of numbered) accounts.delete(id);
    return new Set(accounts.values());
  };
}
