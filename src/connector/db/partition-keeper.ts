import { repeat } from '../../runtime/clock/repeat.ts';
import type { Base } from './base.ts';
import { beginMessagePeriod } from './message-periods.ts';
import { readPresent } from './present-time.ts';
import { daysOfChanges, daysOfPeriod, dropInboxPartitions, makePartitions } from './time-partitions.ts';

export interface PartitionKeeperOptions extends Base {
  readonly inboxDays: number;
  /** How long changes and messages are kept; `Infinity`: for ever. */
  readonly changeDays: number;
  readonly messageDays: number;
}

export type PartitionKeeper = ReturnType<typeof createPartitionKeeper>;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MINUTE_MS = 60_000;
const DAYS_AHEAD = 7;

/**
 * Maintains the partitions of the raw inbox and of the changes one week ahead, and the period of new messages. Drops those
 * of the inbox that are older than the retention (see `readPresent`; `startRetention` drops the others). Every process does it, so none of them is
 * essential. Without it, rows go to the default partitions and nothing is lost.
 */
export function createPartitionKeeper(options: PartitionKeeperOptions) {
  const { database, clock, logger, inboxDays, changeDays, messageDays } = options;
  const days = daysOfChanges(changeDays);
  let hindered = false;

  async function keepOnce(): Promise<void> {
    hindered = true;
    await makePartitions(database, 'inbox', clock.now(), { days: 1, ahead: DAYS_AHEAD });
    await makePartitions(database, 'changes', clock.now(), { days, ahead: DAYS_AHEAD });
    const present = await readPresent(database, clock.now());
    if (Number.isFinite(messageDays))
      await beginMessagePeriod(database, present, daysOfPeriod(messageDays) * DAY_MS);
    const { dropped, busy } = await dropInboxPartitions(database, present - inboxDays * DAY_MS);
    if (dropped > 0) logger.info({ count: dropped }, 'old days of the inbox were dropped');
    if (busy > 0)
      logger.info({ count: busy }, 'old days of the inbox are being read and will be dropped later');
    hindered = busy > 0;
  }

  function noteFailure(err: unknown): void {
    logger.warn(
      { err },
      'the partitions of inbox, feed and messages could not be maintained; retrying in a minute',
    );
  }

  const keeping = repeat({
    clock,
    everyMs: () => (hindered ? MINUTE_MS : HOUR_MS),
    run: keepOnce,
    onError: noteFailure,
  });
  return {
    /**
     * Creates the partitions of the coming days and drops old ones of the inbox, now. Never rejects: a failure is logged.
     */
    keep: (): Promise<void> => keeping.runNow().catch(noteFailure),
    /** Does the same every hour, and a minute after a failure. */
    start: keeping.start,
    close: keeping.stop,
  };
}
