import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';

export interface PresenceOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Names this process among all. */
  readonly owner: string;
  /** How long others believe in this process without a sign of life. */
  readonly ttlMs: number;
}

/**
 * Tells other processes that this one is alive. A lane is leased for longer than a call can take; when its
 * owner is gone, nobody has to wait for that.
 */
export interface SenderPresence {
  /** Gives the first sign of life, and goes on giving them. Throws as `query` does. */
  start(): Promise<void>;
  /** False once others may take this process for gone. */
  isAlive(): boolean;
  /** Ends the signs, and tells so. */
  stop(): Promise<void>;
}

const LONGEST_QUERY_MS = 10_000;
const FORGET_AFTER_MS = 60 * 60_000;

export function createSenderPresence(options: PresenceOptions): SenderPresence {
  const { database, clock, logger, owner, ttlMs } = options;
  let renewedAt = Number.NEGATIVE_INFINITY;
  let stopped = false;
  let cancel = (): void => undefined;
  let renewal: Promise<void> = Promise.resolve();

  async function renew(): Promise<void> {
    const begun = clock.elapsed();
    const now = clock.now();
    await database.query(
      `with gone as (delete from connector.senders where expires_at < $3::bigint)
       insert into connector.senders (owner, expires_at) values ($1, $2::bigint)
       on conflict (owner) do update set expires_at = excluded.expires_at`,
      [owner, now + ttlMs, now - FORGET_AFTER_MS],
      { deadlineMs: Math.min(ttlMs, LONGEST_QUERY_MS) },
    );
    renewedAt = begun;
  }

  function schedule(): void {
    if (stopped) return;
    cancel = clock.after(ttlMs / 3, () => {
      renewal = renew()
        .catch((err: unknown) => logger.warn({ err }, 'a sign of life could not be given'))
        .then(schedule);
    });
  }

  return {
    async start() {
      await renew();
      schedule();
    },
    isAlive: () => !stopped && clock.elapsed() - renewedAt < ttlMs,
    async stop() {
      stopped = true;
      cancel();
      await renewal;
      await database
        .query('delete from connector.senders where owner = $1', [owner])
        .catch((err: unknown) => logger.warn({ err }, 'the lanes of this process stay taken for a while'));
    },
  };
}
