import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';

const LOCK = 'messaging-connector platform';
const RETRY_MS = 1_000;

/** Thrown when another process runs the service on this database. */
export class PlatformAlreadyRuns extends Error {
  override readonly name = 'PlatformAlreadyRuns';

  constructor() {
    super('another platform runs on this database. Stop it, or use another database for this one.');
  }
}

interface LeaseOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when another process took over while this one had lost its connection. */
  readonly onLost: () => void;
}

/**
 * Claims the database for this process, because virtual time and webhooks are held in its memory: by an advisory lock,
 * which ends with its connection. Resolves with the function that releases it. Throws `PlatformAlreadyRuns`.
 */
export async function takeProcessLease(options: LeaseOptions): Promise<() => Promise<void>> {
  const { database, clock, logger, onLost } = options;
  let release: (() => Promise<void>) | null = null;
  let isOver = false;
  let isRetrying = false;

  const take = async (): Promise<boolean> => {
    release = await database.lock(LOCK, takeAgain);
    if (isOver) await release?.();
    return release !== null;
  };
  const takeAgain = (): void => {
    if (isOver) return;
    take().then(
      (isTaken) => {
        if (isTaken && isRetrying) logger.info('the lock of the database is taken again');
        isRetrying = false;
        if (isTaken || isOver) return;
        logger.fatal('another platform took over this database; this one stops');
        onLost();
      },
      (error: unknown) => {
        if (!isRetrying)
          logger.warn({ err: error }, 'the lock of the database could not be taken again; retrying');
        isRetrying = true;
        clock.after(RETRY_MS, takeAgain);
      },
    );
  };

  if (!(await take())) throw new PlatformAlreadyRuns();
  return async () => {
    isOver = true;
    await release?.();
  };
}
