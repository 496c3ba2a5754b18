import type { Clock } from '../../runtime/clock/clock.ts';
import { repeat } from '../../runtime/clock/repeat.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { noteLicenseEnds } from '../db/connection-rows.ts';

export interface LicenseWatchOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when a change was written. */
  readonly onChanged: () => void;
}

export interface LicenseWatch {
  /** Checks now. Never rejects: a failure is logged. */
  checkNow(): Promise<void>;
  /** Checks every minute. */
  start(): void;
  close(): Promise<void>;
}

const EVERY_MS = 60_000;

/**
 * Derives notices about ending licenses from the time only, so they also appear while the service cannot be
 * reached.
 */
export function createLicenseWatch(options: LicenseWatchOptions): LicenseWatch {
  const { database, clock, logger, onChanged } = options;

  async function checkOnce(): Promise<void> {
    const noted = await noteLicenseEnds(database, clock.now());
    if (noted.length > 0) onChanged();
    for (const { id, notice } of noted) {
      if (notice !== null)
        logger.warn({ connectionId: id, reason: notice }, 'the license of a connection ends');
    }
  }

  function noteFailure(err: unknown): void {
    logger.warn({ err }, 'license ends could not be checked; retrying in a minute');
  }

  const checks = repeat({ clock, everyMs: EVERY_MS, run: checkOnce, onError: noteFailure });
  return { checkNow: () => checks.runNow().catch(noteFailure), start: checks.start, close: checks.stop };
}
