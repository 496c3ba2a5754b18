import type { Clock } from '../../runtime/clock/clock.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { distribute } from './distribute.ts';

export interface DistributorOptions {
  readonly database: Queryable;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called for each connection whose queue is no longer empty. */
  readonly onFilled: (connectionId: string) => void;
}

export interface Distributor {
  /** The feed has reached `lastSeq`: distributes up to there, unless that is done. Returns at once. */
  notify(lastSeq: number): void;
  /** Distributes what was numbered before the call. Throws as `query` does. */
  settle(): Promise<void>;
  /** Starts no more steps, and waits for the one in progress. */
  close(): Promise<void>;
}

/** Distributes the changes of the feed as it grows. Any number of processes may do so. */
export function createDistributor({ database, clock, logger, onFilled }: DistributorOptions): Distributor {
  let wanted = 0;
  let reached = 0;
  let closed = false;
  let failing = false;
  let working: Promise<void> | undefined;

  async function distributeAll(): Promise<void> {
    for (let more = true; more && !closed; ) {
      const step = await distribute(database, clock.now());
      for (const connectionId of step.filled) onFilled(connectionId);
      more = step.more;
    }
  }

  async function work(): Promise<void> {
    while (wanted > reached && !closed) {
      const goal = wanted;
      await distributeAll();
      failing = false;
      reached = goal;
    }
  }

  return {
    notify(lastSeq) {
      wanted = Math.max(wanted, lastSeq);
      if (wanted <= reached || closed) return;
      working ??= work()
        .catch((err: unknown) => {
          // The next notification tries again: the feed reports its position regularly.
          if (!failing) logger.warn({ err }, 'changes could not be distributed; retrying');
          failing = true;
        })
        .finally(() => {
          working = undefined;
        });
    },
    settle: distributeAll,
    async close() {
      closed = true;
      await working;
    },
  };
}
