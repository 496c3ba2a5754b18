import { type Repeat, repeat } from '../runtime/clock/repeat.ts';
import type { Queryable } from '../runtime/database/database.ts';
import { deleteOldCreations } from './connections/creation-store.ts';
import { readFirstNeeded } from './consumers/consumer-store.ts';
import { deleteOldDeadLetters } from './consumers/dead-letters.ts';
import type { Base } from './db/base.ts';
import { deleteOldChanges, readNewestChangeAt } from './db/delete-old-changes.ts';
import { deleteErasedDeliveries } from './db/erase-messages.ts';
import type { Lease } from './db/lease.ts';
import { readPresent } from './db/present-time.ts';
import { deleteOldSends, readNewestSendAt } from './outbox/delete-old-sends.ts';
import type { Presence } from './work/presence.ts';

const EVERY_MS = 60 * 60_000;
const DAY_MS = 24 * EVERY_MS;
/** The name of the lease. */
const LEASE = 'retention:all';

/** Each kind of finished data has its own retention, defined in the module that owns it. */
const DELETIONS: readonly ((db: Queryable, now: number) => Promise<void>)[] = [
  deleteOldSends,
  deleteOldCreations,
  deleteOldDeadLetters,
  deleteErasedDeliveries,
];

/**
 * Deletes data that is past its retention, now and every hour, in one process at a time.
 */
export function startRetention(
  options: Base & { readonly presence: Presence; readonly changeDays?: number | undefined },
): Repeat {
  const { database, clock, logger, presence, changeDays } = options;

  async function deleteAll(_lease: Lease, stopping: AbortSignal): Promise<void> {
    const newest = await readNewestSendAt(database);
    const present = await readPresent(database, clock.now(), newest);
    for (const deleteOld of DELETIONS) {
      if (stopping.aborted) return;
      await deleteOld(database, present).catch(noteFailure);
    }
    if (changeDays !== undefined) await deleteChanges(changeDays, stopping).catch(noteFailure);
  }

  async function deleteChanges(days: number, stopping: AbortSignal): Promise<void> {
    const present = await readPresent(database, clock.now(), await readNewestChangeAt(database));
    const before = present - days * DAY_MS;
    const needed = await readFirstNeeded(database);
    const count = await deleteOldChanges(database, { before, needed, stopping });
    if (count > 0) logger.info({ count }, 'old changes were deleted from the feed');
  }

  function noteFailure(err: unknown): void {
    logger.warn({ err }, 'old data could not be deleted; retrying in an hour');
  }

  const runs = repeat({
    clock,
    everyMs: EVERY_MS,
    run: async (stopping) => void (await presence.hold(LEASE, deleteAll, stopping)),
    onError: noteFailure,
  });
  runs.start();
  runs.trigger();
  return runs;
}
