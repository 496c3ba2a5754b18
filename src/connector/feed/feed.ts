import type { Change } from '../../contract/connector/changes.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { repeat } from '../../runtime/clock/repeat.ts';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { createLiveChanges, type TakeChanges } from './live-changes.ts';
import { type ChangeFilter, type ChangePage, readChangePage, readPosition } from './read-changes.ts';
import { createSequencer } from './sequencer.ts';

export type { TakeChanges } from './live-changes.ts';
export type { ChangeFilter } from './read-changes.ts';

export interface FeedOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Feed {
  /** Up to `limit` changes with a `seq` above `after`, in order. */
  changesAfter(after: number, limit: number, filter?: ChangeFilter): Promise<readonly Change[]>;
  /** The same, and where the next page starts. */
  pageAfter(after: number, limit: number, filter?: ChangeFilter): Promise<ChangePage>;
  /** The id of the feed, and the highest `seq` assigned so far. */
  position(): Promise<{ readonly feedId: string; readonly lastSeq: number }>;
  /**
   * Passes every change above `after` to `take`, in order, until `signal` aborts or the feed closes; then it
   * resolves. Rejects with what `take` throws. If the database fails, it waits.
   */
  subscribe(after: number, take: TakeChanges, signal: AbortSignal, filter?: ChangeFilter): Promise<void>;
  /** This process committed changes: number them soon. Returns at once. */
  notify(): void;
  /**
   * Starts to check for commits of other processes, and for changes that a dead process left without a number.
   */
  start(): void;
  /** Resolves when every change that was committed before the call has its number. */
  settle(): Promise<void>;
  /** Ends every subscription and stops. */
  close(): Promise<void>;
}

/** How often it looks for numbers of other processes with and without subscribers; and for changes without a number. */
const LISTENING_MS = 100;
const IDLE_MS = 1_000;

/**
 * The change feed of one process. Readers see only numbered changes, and numbers only rise, so a reader
 * that keeps the last `seq` skips nothing. One query serves all subscribers.
 */
export function createFeed(options: FeedOptions): Feed {
  const { database, clock, logger } = options;
  const ending = new AbortController();
  let started = false;
  let failing = false;
  let numberAt = Number.NEGATIVE_INFINITY;

  const sequencer = createSequencer({ database, clock, logger, onNumbered: advance });
  const live = createLiveChanges({ database, clock, ending: ending.signal, onFailure: noteFailure });

  function advance(lastSeq: number): void {
    failing = false;
    live.advance(lastSeq);
  }

  function noteFailure(err: unknown): void {
    if (!failing && !ending.signal.aborted)
      logger.warn({ err }, 'the change feed could not be read; retrying');
    failing = true;
  }

  async function check(): Promise<void> {
    if (clock.elapsed() >= numberAt) {
      numberAt = clock.elapsed() + IDLE_MS;
      sequencer.notify();
    }
    advance((await readPosition(database)).lastSeq);
  }

  const checks = repeat({
    clock,
    everyMs: () => (live.listeners > 0 ? LISTENING_MS : IDLE_MS),
    run: check,
    onError: noteFailure,
  });

  return {
    changesAfter: async (after, limit, filter) =>
      (await readChangePage(database, after, limit, filter)).changes,
    pageAfter: (after, limit, filter) => readChangePage(database, after, limit, filter),
    position: () => readPosition(database),
    subscribe(after, take, signal, filter) {
      const subscription = live.subscribe(after, take, signal, filter);
      if (started) checks.start();
      return subscription;
    },
    notify: () => sequencer.notify(),
    start() {
      started = true;
      checks.start();
    },
    settle: () => sequencer.settle(),
    async close() {
      ending.abort();
      await Promise.all([sequencer.close(), checks.stop()]);
      await live.settle();
    },
  };
}
