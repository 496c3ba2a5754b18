import { max } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { pollStates } from './sync-tables.ts';
import { readNewestInboxAt } from './time-partitions.ts';

/**
 * The time from which the age of old data counts, epoch ms: our clock, but no later than the newest evidence, which is
 * the last good poll by the service's clock, and the last delivery, whose signed time agreed with ours. So a process
 * whose clock is weeks ahead deletes nothing that is recent, whatever it has written. Our clock if there is no evidence.
 * Throws as `query` does.
 */
export async function readPresent(db: Queryable, now: number): Promise<number> {
  const [polled] = await orm(db)
    .select({ at: max(pollStates.lastGoodReference) })
    .from(pollStates);
  const newest = Math.max(polled?.at ?? 0, (await readNewestInboxAt(db)) ?? 0);
  return newest === 0 ? now : Math.min(now, newest);
}
