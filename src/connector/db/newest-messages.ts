import { and, desc, eq, type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/pg-core';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { connections, messages } from './schema.ts';

/** Connections and their messages, under the names that `newestMessages` uses. */
export const c = alias(connections, 'c');
export const m = alias(messages, 'm');

/** A literal condition, so that the indexes of messages are used. */
export const NOT_ERASED = sql`not ${m.erased}`;

/** Both directions, as `d`: the index of the newest messages has one list for each. */
export const DIRECTIONS = sql`(values ('incoming'), ('outgoing')) d(direction)`;

/** The messages of the list `d` of the connection `c`: conditions for `and`. */
export const IN_LIST = [eq(m.connectionId, c.connectionId), sql`${m.direction} = d.direction`, NOT_ERASED];

/**
 * The newest `limit` messages that match `where`, of the connection `c` and the direction `d`. Use it in a
 * lateral join to both: then each connection is read by the index, however many messages it has.
 */
export function newestMessages(db: Queryable, limit: number, where?: SQL) {
  return orm(db)
    .select()
    .from(m)
    .where(and(...IN_LIST, where))
    .orderBy(desc(m.createdAt))
    .limit(limit)
    .as('m');
}
