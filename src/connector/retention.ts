import { type Repeat, repeat } from '../runtime/clock/repeat.ts';
import type { Queryable } from '../runtime/database/database.ts';
import { deleteOldCreations } from './connections/creation-store.ts';
import { followFirstNeeded } from './consumers/consumer-store.ts';
import { deleteOldDeadLetters, forgetErrors } from './consumers/dead-letters.ts';
import type { Base } from './db/base.ts';
import { deleteOldChanges } from './db/delete-old-changes.ts';
import { deleteErasedDeliveries } from './db/erase-messages.ts';
import { expireMessages } from './db/expire-messages.ts';
import type { Lease } from './db/lease.ts';
import { readPresent } from './db/present-time.ts';
import { daysOfChanges, daysOfPeriod } from './db/time-partitions.ts';
import { deleteOldSends } from './outbox/delete-old-sends.ts';
import type { Presence } from './work/presence.ts';

const EVERY_MS = 60 * 60_000;
const DAY_MS = 24 * EVERY_MS;
/** The name of the lease. */
const LEASE = 'retention:all';

/** Each kind of finished data has its own retention, defined in the module that owns it, and at most `maxMs`. */
const DELETIONS: readonly ((db: Queryable, now: number, maxMs: number) => Promise<void>)[] = [
  deleteOldSends,
  deleteOldCreations,
  deleteOldDeadLetters,
  deleteErasedDeliveries,
  forgetErrors,
];

/** How long what has the texts of messages is kept; infinite: for ever. */
export interface RetentionDays {
  /** Nothing with the text of a message is kept for longer, except what a consumer still needs. */
  readonly messageDays: number;
  /** At most `messageDays`. */
  readonly changeDays: number;
}

/**
 * Deletes data that is past its retention, now and every hour, in one process at a time.
 */
export function startRetention(options: Base & RetentionDays & { readonly presence: Presence }): Repeat {
  const { database, clock, logger, presence, messageDays, changeDays } = options;
  const messagesMs = messageDays * DAY_MS;
  const changesMs = changeDays * DAY_MS;

  async function deleteAll(_lease: Lease, stopping: AbortSignal): Promise<void> {
    const present = await readPresent(database, clock.now());
    for (const deleteOld of DELETIONS) {
      if (stopping.aborted) return;
      await deleteOld(database, present, messagesMs).catch(noteFailure);
    }
    for (const deleteOld of [deleteChanges, deleteMessages]) {
      if (stopping.aborted) return;
      await deleteOld(present, stopping).catch(noteFailure);
    }
  }

  async function deleteChanges(present: number, stopping: AbortSignal): Promise<void> {
    if (!Number.isFinite(changesMs)) return;
    const before = present - changesMs;
    const patienceMs = daysOfChanges(changeDays) * DAY_MS;
    const needed = followFirstNeeded();
    const count = await deleteOldChanges(database, { before, present, needed, patienceMs, stopping });
    if (count > 0) logger.info({ count }, 'old changes were deleted from the feed');
  }

  async function deleteMessages(present: number, stopping: AbortSignal): Promise<void> {
    if (!Number.isFinite(messagesMs)) return;
    const before = present - messagesMs;
    // A period may begin an hour late.
    const patienceMs = daysOfPeriod(messageDays) * DAY_MS + EVERY_MS;
    const old = { before, now: clock.now(), patienceMs, stopping };
    const { periods, emptied } = await expireMessages(database, old);
    if (periods > 0) logger.info({ count: periods }, 'partitions of old messages were dropped');
    if (emptied > 0) logger.info({ count: emptied }, 'texts and files of old messages were deleted');
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
