import { repeat } from '../../runtime/clock/repeat.ts';
import type { Base } from '../db/base.ts';
import { dropInboxPartitions, makeInboxPartitions } from '../db/inbox-partitions.ts';
import { readPresent } from '../db/present-time.ts';

export interface InboxKeeperOptions extends Base {
  readonly retentionDays: number;
}

export interface InboxKeeper {
  /**
   * Creates the partitions of the coming days and drops old ones, now. Never rejects: a failure is logged.
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
 * Maintains the partitions of the raw inbox: one week ahead, none older than the retention (see `readPresent`). Every
 * process does it, so none of them is essential. Without it, rows go to the default partition and nothing is lost.
 */
export function createInboxKeeper(options: InboxKeeperOptions): InboxKeeper {
  const { database, clock, logger } = options;
  let hindered = false;

  async function keepOnce(): Promise<void> {
    hindered = true;
    await makeInboxPartitions(database, clock.now(), DAYS_AHEAD);
    const present = await readPresent(database, clock.now());
    const oldest = present - options.retentionDays * DAY_MS;
    const { dropped, busy } = await dropInboxPartitions(database, oldest);
    if (dropped > 0) logger.info({ count: dropped }, 'old days of the inbox were dropped');
    if (busy > 0)
      logger.info({ count: busy }, 'old days of the inbox are being read and will be dropped later');
    hindered = busy > 0;
  }

  function noteFailure(err: unknown): void {
    logger.warn({ err }, 'the partitions of the inbox could not be maintained; retrying in a minute');
  }

  const keeping = repeat({
    clock,
    everyMs: () => (hindered ? MINUTE_MS : HOUR_MS),
    run: keepOnce,
    onError: noteFailure,
  });
  return { keep: () => keeping.runNow().catch(noteFailure), start: keeping.start, close: keeping.stop };
}
