import type { Clock } from '../clock/clock.ts';
import { repeat } from '../clock/repeat.ts';
import type { Logger } from '../logger/logger.ts';
import { DatabaseUnavailable, isConnectionFailure, sqlState } from './errors.ts';
import type { Pool } from './pool.ts';
import type { Session } from './session.ts';

export interface WatchdogOptions {
  readonly pool: Pool;
  readonly everyMs: number;
  readonly probeMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Probes a pool that has received no response for a while, and replaces it if the probe fails. An idle
 * connection that does not respond may be the only one that died (a middlebox forgot it), so a new one is
 * tried next: if that works, only the idle ones are closed; if it does not, all are, and callers with long
 * deadlines fail now.
 */
export function startWatchdog(options: WatchdogOptions) {
  const { pool, clock, logger } = options;
  let replaced = 0;
  let probing = false;
  let stopped = false;

  const replace = (scope: 'idle' | 'all'): void => {
    replaced += 1;
    pool.replace(
      new DatabaseUnavailable('lost', 'the database stopped responding; its connections were replaced'),
      scope,
    );
    logger.warn({ generation: pool.generation, scope }, 'database connections replaced after a failed probe');
  };

  const probe = async (): Promise<void> => {
    const idle = pool.takeIdle();
    if (idle !== undefined) {
      const answered = await answers(idle, options.probeMs);
      pool.release(idle);
      if (answered) return;
    }
    const fresh = await openFresh(options);
    if (stopped) {
      if (typeof fresh === 'object') void fresh.close();
    } else if (fresh === 'silent') replace('all');
    else {
      if (idle !== undefined) replace('idle');
      if (typeof fresh === 'object') pool.adopt(fresh);
    }
  };

  /** Probes now, unless a probe is running: something just missed its deadline. */
  const suspect = (): void => {
    if (probing || stopped) return;
    probing = true;
    void probe().finally(() => {
      probing = false;
    });
  };

  const checks = repeat({
    clock,
    everyMs: options.everyMs,
    async run() {
      const quiet = clock.elapsed() - pool.lastAnswerAt >= options.everyMs;
      if (quiet && pool.counts.open > 0) suspect();
    },
    onError: (err) => logger.warn({ err }, 'the database connections could not be checked'),
  });
  checks.start();

  return {
    suspect,
    stop(): void {
      stopped = true;
      void checks.stop();
    },
    get replaced(): number {
      return replaced;
    },
  };
}

/** True if the session responds in time; otherwise it is ended. */
async function answers(session: Session, probeMs: number): Promise<boolean> {
  try {
    await session.probe(probeMs);
    return true;
  } catch (error) {
    if (!isConnectionFailure(error)) return true;
    session.end(new DatabaseUnavailable('lost', 'the connection did not respond to a probe'));
    return false;
  }
}

/** A new session; `answered` if the server refused one with an error, `silent` if there was no response. */
async function openFresh({ pool, probeMs }: WatchdogOptions): Promise<Session | 'answered' | 'silent'> {
  try {
    return await pool.openExtra(probeMs);
  } catch (error) {
    return sqlState(error) === undefined ? 'silent' : 'answered';
  }
}
