import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { dropInboxPartitions, makeInboxPartitions } from '../db/inbox-partitions.ts';

export interface InboxKeeperOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly retentionDays: number;
}

export interface InboxKeeper {
  /** Makes the partitions of the coming days and drops old ones, now. Never rejects: a failure is logged. */
  keep(): Promise<void>;
  /** Does so every hour. */
  start(): void;
  close(): Promise<void>;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const DAYS_AHEAD = 7;

/**
 * Keeps the raw inbox in shape: partitions a week ahead, none past the retention. Every process does it, so
 * none of them matters. Without it rows go to the default partition and nothing is lost.
 */
export function createInboxKeeper(options: InboxKeeperOptions): InboxKeeper {
  const { database, clock, logger } = options;
  let cancel = (): void => undefined;
  let closed = false;
  let keeping: Promise<void> = Promise.resolve();

  async function keepOnce(): Promise<void> {
    try {
      await makeInboxPartitions(database, clock.now(), DAYS_AHEAD);
      const dropped = await dropInboxPartitions(database, clock.now() - options.retentionDays * DAY_MS);
      if (dropped > 0) logger.info({ count: dropped }, 'old days of the inbox were dropped');
    } catch (err) {
      logger.warn({ err }, 'the partitions of the inbox could not be looked after; trying again in an hour');
    }
  }

  function keep(): Promise<void> {
    keeping = keeping.then(keepOnce);
    return keeping;
  }

  function start(): void {
    if (closed) return;
    cancel = clock.after(HOUR_MS, () => {
      void keep().then(start);
    });
  }

  return {
    keep,
    start,
    async close() {
      closed = true;
      cancel();
      await keeping;
    },
  };
}
