import { and, inArray, lt, not } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { IS_UNFINISHED, outbound, outboundMedia } from '../db/outbox-tables.ts';

const DAY_MS = 24 * 60 * 60_000;
/** How long the file of a failed send is kept for a retry by an operator. */
const FILES_KEPT_MS = 7 * DAY_MS;
/** How long a send is kept after its end. Its reference is taken for the same time. */
const SENDS_KEPT_MS = 90 * DAY_MS;
/** Maximum number of sends that one statement deletes. */
const MAX = 1_000;

/**
 * Deletes what old sends left: files after a week, the sends after 90 days, or `maxMs` if that is less. Throws as `query`
 * does.
 */
export async function deleteOldSends(
  database: Queryable,
  now: number,
  maxMs = Number.POSITIVE_INFINITY,
): Promise<void> {
  const { id, state, createdAt, updatedAt } = outbound;
  const db = orm(database);
  const failed = db
    .select({ id })
    .from(outbound)
    .where(and(inArray(state, ['rejected', 'unknown']), lt(updatedAt, now - FILES_KEPT_MS)));
  await db.delete(outboundMedia).where(inArray(outboundMedia.outboundId, failed));

  const before = now - Math.min(SENDS_KEPT_MS, maxMs);
  const isOver = and(lt(updatedAt, before), not(IS_UNFINISHED));
  // A send ends after it was created, so the index of creation times finds those that may be old enough.
  const old = db
    .select({ id })
    .from(outbound)
    .where(and(lt(createdAt, before), isOver))
    .orderBy(createdAt, id)
    .limit(MAX);
  for (let deleted = MAX; deleted === MAX; ) {
    deleted = (
      await db
        .delete(outbound)
        .where(and(isOver, inArray(id, old)))
        .returning({ id })
    ).length;
  }
}
