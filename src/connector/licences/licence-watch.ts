import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { noteLicenceEnds } from './note-licence-ends.ts';

export interface LicenceWatchOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told when a change was written. */
  readonly onChanged: () => void;
}

export interface LicenceWatch {
  /** Looks now. Never rejects: a failure is logged. */
  look(): Promise<void>;
  /** Looks every minute. */
  start(): void;
  close(): Promise<void>;
}

const EVERY_MS = 60_000;

/** Watches the ends of licences by time alone, so that a service that cannot be reached hides none of them. */
export function createLicenceWatch(options: LicenceWatchOptions): LicenceWatch {
  const { database, clock, logger, onChanged } = options;
  let cancel = (): void => undefined;
  let closed = false;
  let looking: Promise<void> = Promise.resolve();

  async function lookOnce(): Promise<void> {
    try {
      const noted = await noteLicenceEnds(database, clock.now());
      if (noted.length > 0) onChanged();
      for (const { id, notice } of noted) {
        if (notice !== null)
          logger.warn({ connectionId: id, reason: notice }, 'the licence of a connection ends');
      }
    } catch (err) {
      logger.warn({ err }, 'the ends of licences could not be looked at; trying again in a minute');
    }
  }

  function look(): Promise<void> {
    looking = looking.then(lookOnce);
    return looking;
  }

  function start(): void {
    if (closed) return;
    cancel = clock.after(EVERY_MS, () => {
      void look().then(start);
    });
  }

  return {
    look,
    start,
    async close() {
      closed = true;
      cancel();
      await looking;
    },
  };
}
