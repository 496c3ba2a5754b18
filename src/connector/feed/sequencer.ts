import type { Clock } from '../../runtime/clock/clock.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';

export interface SequencerOptions {
  readonly database: Queryable;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called with the last assigned number after each run. */
  readonly onNumbered: (lastSeq: number) => void;
}

export interface Sequencer {
  /** Changes were committed: number them soon. Returns at once. */
  notify(): void;
  /** Numbers everything that was committed before the call. Throws what `query` throws. */
  settle(): Promise<void>;
  /** Starts no more runs, and waits for the current one. */
  close(): Promise<void>;
}

/** Minimum time between runs, so that under load one run, with its flush, serves many commits. */
const SPACING_MS = 50;
/** Number of batches that one statement numbers. */
const MAX = 1_000;

/** Numbers everything that was committed before the call. Throws as `query` does. */
export async function numberChanges(db: Queryable, onNumbered?: (lastSeq: number) => void): Promise<void> {
  for (;;) {
    const [row] = await db.query<{ numbered: number; last_seq: number }>(
      'SELECT numbered, last_seq FROM connector.number_changes($1)',
      [MAX],
    );
    if (row === undefined) throw new Error('the feed has no row');
    onNumbered?.(row.last_seq);
    if (row.numbered < MAX) return;
  }
}

/**
 * Assigns numbers to committed changes. Any number of processes may run one: the row lock in
 * `connector.number_changes` lets them work one at a time, each on what was committed before it got the lock.
 * Runs of one process never overlap.
 */
export function createSequencer(options: SequencerOptions): Sequencer {
  const { database, clock, logger } = options;
  let tail: Promise<unknown> = Promise.resolve();
  let lastStart = Number.NEGATIVE_INFINITY;
  let queued = false;
  let failing = false;
  let closed = false;
  let cancel = (): void => undefined;

  function run(): Promise<void> {
    const turn = tail.then(() => {
      queued = false;
      lastStart = clock.elapsed();
      return numberChanges(database, options.onNumbered);
    });
    tail = turn.catch(() => undefined);
    return turn;
  }

  function runQuietly(): void {
    run().then(
      () => {
        failing = false;
      },
      (err: unknown) => {
        if (!failing) logger.warn({ err }, 'changes could not be numbered; retrying');
        failing = true;
      },
    );
  }

  return {
    notify() {
      if (queued || closed) return;
      queued = true;
      const wait = lastStart + SPACING_MS - clock.elapsed();
      if (wait <= 0) runQuietly();
      else cancel = clock.after(wait, runQuietly);
    },
    settle: run,
    async close() {
      closed = true;
      cancel();
      await tail;
    },
  };
}
