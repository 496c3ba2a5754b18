import { and, eq, gt, sql } from 'drizzle-orm';
import { LISTED_PARKED } from '../../contract/connector/consumers.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import type { ParkedRow } from '../consumers/key.ts';
import { consumers, parked } from '../db/schema.ts';
import { readConsumerFigures } from './figures.ts';

/** A parked connection. Times in epoch milliseconds. */
type ParkedConnection = Omit<ParkedRow, 'key' | 'partition' | 'revision'>;

/** Consumers by name: settings without secrets, figures, and some parked connections. Throws as `query` does. */
export async function readConsumerStates(
  db: Queryable,
  wanted: { readonly name: string } | { readonly after: string | null; readonly limit: number },
) {
  const { name, sealedRedisUrl } = consumers;
  const listed = sql`
    select ${parked.connectionId} as "connectionId", ${parked.seq}, ${parked.attempts}, ${parked.dueAt} as "dueAt",
           ${parked.lastError} as "lastError", ${parked.since}
      from ${parked} where ${parked.consumer} = ${name}
     order by ${parked.attempts} desc, ${parked.since} limit ${LISTED_PARKED}`;
  const isOne = 'name' in wanted;
  const rows = await orm(db)
    .select({
      name,
      state: consumers.state,
      disabledReason: consumers.disabledReason,
      unavailableSince: consumers.unavailableSince,
      unavailableReason: consumers.unavailableReason,
      filter: consumers.filter,
      batch: consumers.batch,
      concurrency: consumers.concurrency,
      attempts: consumers.attempts,
      deadlineMs: consumers.deadlineMs,
      historic: consumers.historic,
      placeChanges: consumers.placeChanges,
      placeMs: consumers.placeMs,
      settings: consumers.settings,
      previousUntil: consumers.previousUntil,
      createdAt: consumers.createdAt,
      ownRedis: sql<boolean>`${sealedRedisUrl} is not null`,
      listed: sql<readonly ParkedConnection[]>`array(select to_json(w) from (${listed}) w)`,
    })
    .from(consumers)
    .where(
      and(
        isOne ? eq(name, wanted.name) : undefined,
        isOne || wanted.after === null ? undefined : gt(name, wanted.after),
      ),
    )
    .orderBy(name)
    .limit(isOne ? 1 : wanted.limit);
  const figures = new Map((await readConsumerFigures(db)).map((each) => [each.name, each]));
  return rows.flatMap((row) => {
    const found = figures.get(row.name);
    // It was deleted in the meantime.
    return found === undefined ? [] : [{ ...row, ...found }];
  });
}

export type ConsumerState = Awaited<ReturnType<typeof readConsumerStates>>[number];
