import { and, eq, gt, sql } from 'drizzle-orm';
import type { ConsumerState } from '../../contract/connector/consumers.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { historyName, type ParkedRow, separateName } from '../consumers/key.ts';
import { partitionOf } from '../consumers/partition-of.ts';
import { passes } from '../consumers/passes.ts';
import { consumerPlaces, consumers, parked, parkedEntries } from '../db/schema.ts';
import { readChanges } from '../feed/read-changes.ts';

/** A consumer that has yet to take a change. */
export interface WaitingConsumer {
  readonly name: string;
  readonly state: ConsumerState;
  /** Null: no call failed. Times in epoch ms. */
  readonly parked: Pick<ParkedRow, 'attempts' | 'dueAt' | 'lastError'> | null;
}

/**
 * A consumer that has yet to take one of these changes of a connection, or took it since it last wrote its place: one
 * whose calls failed, if there is one. Throws as `query` does.
 */
export async function findWaitingConsumer(
  db: Queryable,
  connectionId: string,
  seqs: readonly number[],
): Promise<WaitingConsumer | undefined> {
  const keys = [
    connectionId,
    historyName(connectionId),
    ...seqs.map((seq) => separateName(connectionId, seq)),
  ];
  const { name, state, filter, historic } = consumers;
  const { attempts, dueAt, lastError } = parked;
  const rows = await orm(db)
    .select({
      ...{ name, state, filter, historic },
      parked: { attempts, dueAt, lastError },
      // The newest row counts.
      place: sql<number>`(select n.place from ${consumerPlaces} n where n.consumer = ${name}
        and n.partition = ${partitionOf(connectionId)} order by n.id desc limit 1)`,
      entered: sql<boolean>`exists (select from ${parkedEntries} where ${parkedEntries.consumer} = ${name}
        and ${isAnyOf(parkedEntries.key, keys)} and ${isAnyOf(parkedEntries.seq, seqs)})`,
    })
    .from(consumers)
    .leftJoin(
      parked,
      and(
        eq(parked.consumer, name),
        isAnyOf(parked.key, keys),
        gt(attempts, 0),
        sql`${parked.seq} <= ${Math.max(0, ...seqs)}::bigint`,
      ),
    )
    .orderBy(sql`${attempts} desc nulls last`, name);
  const changes = (await Promise.all(seqs.map((seq) => readChanges(db, seq - 1, 1)))).flat();
  return rows.find(
    ({ place, entered, ...consumer }) =>
      entered || changes.some((change) => change.seq > place && passes(change, consumer)),
  );
}
