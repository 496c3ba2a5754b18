import { and, desc, eq, lte, sql } from 'drizzle-orm';
import { sandboxTransitions } from '../../platform/db/sandbox-tables.ts';
import type { RecordTransition } from '../../platform/time/state-change.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';

/** Transitions of each connection that are kept. */
const MAX_KEPT = 50;

const { id, connectionId, at, trigger, fromState, toState, needsReconnect, reason, event } =
  sandboxTransitions;

/** For the service: stores a transition, and removes the oldest ones of the connection beyond the limit. */
export const recordTransition: RecordTransition = async (tx, { from, to, ...transition }, now) => {
  await orm(tx)
    .insert(sandboxTransitions)
    .values({ ...transition, fromState: from, toState: to, at: now });
  const isOfIt = eq(connectionId, transition.connectionId);
  const surplus = orm(tx)
    .select({ id })
    .from(sandboxTransitions)
    .where(isOfIt)
    .orderBy(desc(id))
    .offset(MAX_KEPT)
    .limit(1);
  await orm(tx)
    .delete(sandboxTransitions)
    .where(and(isOfIt, lte(id, sql`(${surplus})`)));
};

/** The latest transitions of a connection, newest first. */
export async function listTransitions(db: Queryable, ofConnection: string) {
  return await orm(db)
    .select({ at, trigger, from: fromState, to: toState, needsReconnect, reason, event })
    .from(sandboxTransitions)
    .where(eq(connectionId, ofConnection))
    .orderBy(desc(id));
}
