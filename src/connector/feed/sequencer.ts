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

export type Sequencer = ReturnType<typeof createSequencer>;

/** Minimum time between runs, so that under load one run, with its flush, serves many commits. */
const SPACING_MS = 50;
/** Number of batches that one statement numbers. */
const MAX = 1_000;

/**
 * What is known of the batches that have no number: in this database, each up to `above` has one, except those in
 * `missing`, which were not committed yet. Null for `above`: nothing is known, and all are looked at.
 */
interface Known {
  readonly cluster: string | null;
  readonly above: number | null;
  readonly missing: readonly number[];
}

/** A batch that is not committed after this time, much longer than the deadline of its statement, never will be. */
const FORGOTTEN_MS = 60_000;
/** Looking at all batches may take long while somebody holds a snapshot, so it takes at most this part of the time. */
const LOOKING_PART = 1 / 50;
const NOTHING: Known = { cluster: null, above: null, missing: [] };

/** Numbers everything that was committed before the call. Resolves with what is then known. Throws as `query` does. */
export async function numberChanges(
  db: Queryable,
  onNumbered?: (lastSeq: number) => void,
  known: Known = NOTHING,
): Promise<Known> {
  for (let now = known; ; ) {
    const [row] = await db.query<Known & { numbered: number; last_seq: number }>(
      'SELECT cluster, above, missing, numbered, last_seq FROM connector.number_changes($1, $2, $3, $4::bigint[])',
      [MAX, now.cluster, now.above, now.missing],
    );
    if (row === undefined) throw new Error('the feed has no row');
    now = { cluster: row.cluster, above: row.above, missing: row.missing };
    onNumbered?.(row.last_seq);
    if (row.numbered < MAX) return now;
  }
}

/**
 * Assigns numbers to committed changes. Any number of processes may run one: the lock in `connector.number_changes`
 * lets them work one at a time, each on what was committed before it got the lock. Runs of one process never overlap.
 *
 * A run reads only what is newer than the run before it, and the batches that were missing then. Once a minute it looks
 * at all of them: what was committed later than anybody expects gets its number then.
 */
export function createSequencer(options: SequencerOptions) {
  const { database, clock, logger } = options;
  let tail: Promise<unknown> = Promise.resolve();
  let lastStart = Number.NEGATIVE_INFINITY;
  let known = NOTHING;
  let lookAt = Number.NEGATIVE_INFINITY;
  /** Since when the batches that are missing have been. */
  let missingSince = new Map<number, number>();
  let queued = false;
  let failing = false;
  let closed = false;
  let cancel = (): void => undefined;

  async function number(): Promise<void> {
    const started = clock.elapsed();
    const looks = started >= lookAt;
    if (looks) lookAt = started + FORGOTTEN_MS;
    const found = await numberChanges(
      database,
      options.onNumbered,
      looks ? { ...known, above: null } : known,
    );
    const now = clock.elapsed();
    if (looks) lookAt = Math.max(lookAt, started + (now - started) / LOOKING_PART);
    missingSince = new Map(found.missing.map((id) => [id, missingSince.get(id) ?? now]));
    known = {
      ...found,
      missing: found.missing.filter((id) => now - (missingSince.get(id) ?? now) < FORGOTTEN_MS),
    };
  }

  function run(): Promise<void> {
    const turn = tail.then(() => {
      queued = false;
      lastStart = clock.elapsed();
      return number();
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
    /** Changes were committed: number them soon. Returns at once. */
    notify(): void {
      if (queued || closed) return;
      queued = true;
      const wait = lastStart + SPACING_MS - clock.elapsed();
      if (wait <= 0) runQuietly();
      else cancel = clock.after(wait, runQuietly);
    },
    /** Numbers everything that was committed before the call. Throws what `query` throws. */
    settle: run,
    /** Starts no more runs, and waits for the current one. */
    async close(): Promise<void> {
      closed = true;
      cancel();
      await tail;
    },
  };
}
