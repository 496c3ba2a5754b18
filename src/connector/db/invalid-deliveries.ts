import { and, asc, eq, gt } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { connectorSchema } from './column-types.ts';
import { inboxColumns } from './inbox-table.ts';

/* Deliveries that were stored without being read, because this or an earlier version could not. */

/** Of a transaction: no index finds them, so a whole day is read. */
export const DAY_DEADLINE_MS = 10 * 60_000;

const dayOf = (name: string) => connectorSchema.table(name, inboxColumns);

/**
 * Names of the partitions that no reader of this version has read again. The mark is the comment of the partition, so
 * it is dropped with it.
 */
export async function listUnreadPartitions(db: Queryable, version: number): Promise<string[]> {
  const rows = await db.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = 'connector.inbox'::regclass AND obj_description(c.oid, 'pg_class') IS DISTINCT FROM $1
      ORDER BY c.relname`,
    [markOf(version)],
  );
  return rows.map(({ name }) => name);
}

/** Marks a partition: readers of this version do not read it again. */
export async function markPartitionRead(db: Queryable, name: string, version: number): Promise<void> {
  await db.query(`COMMENT ON TABLE connector.${name} IS '${markOf(version)}'`);
}

const markOf = (version: number): string => `reader ${version}`;

/** The next invalid deliveries of a partition, in order of their ids, locked. Throws as `query` does. */
export async function listInvalidDeliveries(db: Queryable, partition: string, after: number, limit: number) {
  const day = dayOf(partition);
  const { id, subscriptionId, accountId, receivedAt, signedAt, secretVersion, body } = day;
  return await orm(db)
    .select({ id, subscriptionId, accountId, receivedAt, signedAt, secretVersion, body })
    .from(day)
    .where(and(eq(day.outcome, 'invalid'), gt(id, after)))
    .orderBy(asc(id))
    .limit(limit)
    .for('key share');
}

/** Deletes deliveries of a partition, which were stored again as read. */
export async function deleteDeliveries(
  db: Queryable,
  partition: string,
  ids: readonly number[],
): Promise<void> {
  const day = dayOf(partition);
  await orm(db)
    .delete(day)
    .where(and(eq(day.outcome, 'invalid'), isAnyOf(day.id, ids)));
}
