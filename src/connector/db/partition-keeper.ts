import { repeat } from '../../runtime/clock/repeat.ts';
import type { Base } from './base.ts';
import { readPresent } from './present-time.ts';
import { daysOfChanges, dropInboxPartitions, makePartitions } from './time-partitions.ts';

export interface PartitionKeeperOptions extends Base {
  readonly inboxDays: number;
  /** How long changes are kept; `Infinity`: for ever. */
  readonly changeDays: number;
}

export interface PartitionKeeper {
  /**
   * Creates the partitions of the coming days and drops old ones of the inbox, now. Never rejects: a failure is logged.
   */
  keep(): Promise<void>;
  /** Does the same every hour, and a minute after a failure. */
  start(): void;
  close(): Promise<void>;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MINUTE_MS = 60_000;
const DAYS_AHEAD = 7;

/**
 * Maintains the partitions of the raw inbox and of the changes: one week ahead, and none of the inbox older than the
 * retention (see `readPresent`; `startRetention` drops those of the changes). Every process does it, so none of them is
 * essential. Without it, rows go to the default partitions and nothing is lost.
 */
export function createPartitionKeeper(options: PartitionKeeperOptions): PartitionKeeper {
  const { database, clock, logger, inboxDays, changeDays } = options;
  const days = daysOfChanges(changeDays);
  let hindered = false;

  async function keepOnce(): Promise<void> {
    hindered = true;
    await makePartitions(database, 'inbox', clock.now(), { days: 1, ahead: DAYS_AHEAD });
    await makePartitions(database, 'changes', clock.now(), { days, ahead: DAYS_AHEAD });
    const present = await readPresent(database, clock.now());
    const { dropped, busy } = await dropInboxPartitions(database, present - inboxDays * DAY_MS);
    if (dropped > 0) logger.info({ count: dropped }, 'old days of the inbox were dropped');
    if (busy > 0)
      logger.info({ count: busy }, 'old days of the inbox are being read and will be dropped later');
    hindered = busy > 0;
  }

  function noteFailure(err: unknown): void {
    logger.warn(
      { err },
      'the partitions of the inbox and the feed could not be maintained; retrying in a minute',
    );
  }

  const keeping = repeat({
    clock,
    everyMs: () => (hindered ? MINUTE_MS : HOUR_MS),
    run: keepOnce,
    onError: noteFailure,
  });
  return { keep: () => keeping.runNow().catch(noteFailure), start: keeping.start, close: keeping.stop };
}
