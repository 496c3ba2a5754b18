import type { Change } from '../../contract/connector/changes.ts';
import { repeat } from '../../runtime/clock/repeat.ts';
import type { Base } from '../db/base.ts';
import {
  type ChangeFilter,
  type ChangePage,
  type FeedPosition,
  passesFilter,
  readChangePage,
  readChanges,
  readFiltered,
  readPosition,
} from './read-changes.ts';
import { createSequencer } from './sequencer.ts';

/**
 * Receives changes in order, and the position of the reader after them; without changes if only the position has moved. The
 * next call waits for the promise, so a slow reader holds one batch.
 */
export type TakeChanges = (changes: readonly Change[], position: number) => void | Promise<void>;

const PAGE = 500;
/** Maximum number of changes passed to a subscriber at once. */
const HANDFUL = 100;
/** Changes in memory for live readers; a reader that lags further behind reads the database itself. */
const WINDOW = 2_000;
const RETRY_MS = 1_000;

interface Handful {
  readonly changes: readonly Change[];
  /** The position of the reader afterwards, which includes changes that the filter omitted. */
  readonly position: number;
}

/** The newest changes in memory, so that many live readers cost one query. */
class ChangeWindow {
  #changes: Change[] = [];
  #end: number;

  /** Starts empty after `position`. */
  constructor(position: number) {
    this.#end = position;
  }

  /** The `seq` up to which the window has been filled. */
  get end(): number {
    return this.#end;
  }

  /** No change has a number above `end` and up to `position`. */
  skipTo(position: number): void {
    this.#end = position;
  }

  /** Adds all changes that follow `end`, in order. The oldest changes make room. */
  append(changes: readonly Change[]): void {
    const last = changes.at(-1);
    if (last === undefined) return;
    // What was read before an erasure has the texts of the person.
    if (changes.some(({ type }) => type === 'person.erased')) this.#changes = [];
    this.#changes.push(...changes);
    this.#end = last.seq;
    if (this.#changes.length > 2 * WINDOW) this.#changes = this.#changes.slice(-WINDOW);
  }

  /** Up to `limit` changes above `after`; undefined if the window does not reach back that far. */
  after(after: number, limit: number): readonly Change[] | undefined {
    const first = this.#changes[0]?.seq ?? this.#end + 1;
    if (after < first - 1) return undefined;
    // Numbers are consecutive, except where they jump: a change is as many places behind the first, or fewer.
    let from = Math.min(after - first + 1, this.#changes.length);
    while (from > 0 && (this.#changes[from - 1]?.seq ?? 0) > after) from -= 1;
    return this.#changes.slice(from, from + limit);
  }
}

export type { ChangeFilter } from './read-changes.ts';

export type Feed = ReturnType<typeof createFeed>;

/** How often it looks for numbers of other processes with and without subscribers; and for changes without a number. */
const LISTENING_MS = 100;
const IDLE_MS = 1_000;

/**
 * The change feed of one process. Readers see only numbered changes, and numbers only rise, so a reader
 * that keeps the last `seq` skips nothing. Each new change is read once, into a window that all live subscribers share.
 */
export function createFeed({ database, clock, logger }: Base) {
  const ending = new AbortController();
  const sleepers = new Set<() => void>();
  let started = false;
  let failing = false;
  let numberAt = Number.NEGATIVE_INFINITY;
  let window: ChangeWindow | undefined;
  let known = 0;
  let listeners = 0;
  let loading: Promise<void> | undefined;

  const sequencer = createSequencer({ database, clock, logger, onNumbered: advance });

  /** Numbers up to `lastSeq` have been assigned. */
  function advance(lastSeq: number): void {
    failing = false;
    known = Math.max(known, lastSeq);
    load();
  }

  function noteFailure(err: unknown): void {
    if (!failing && !ending.signal.aborted)
      logger.warn({ err }, 'the change feed could not be read; retrying');
    failing = true;
  }

  function load(): void {
    if (loading !== undefined || window === undefined || window.end >= known) return;
    loading = fill(window)
      .catch(noteFailure)
      .finally(() => {
        loading = undefined;
      });
  }

  async function fill(target: ChangeWindow): Promise<void> {
    while (target === window && target.end < known) {
      const goal = known;
      const changes = await readChanges(database, target.end, PAGE);
      // Without changes, numbers have jumped.
      if (changes.length === 0) target.skipTo(goal);
      target.append(changes);
      for (const wake of [...sleepers]) wake();
    }
  }

  async function openWindow(): Promise<ChangeWindow> {
    if (window === undefined) {
      const { lastSeq } = await readPosition(database);
      known = Math.max(known, lastSeq);
      window ??= new ChangeWindow(lastSeq);
      load();
    }
    return window;
  }

  /** The changes after `position`; none if the reader has caught up, and `deleted` if some of them were deleted. */
  async function next(position: number, filter: ChangeFilter): Promise<Handful | 'deleted' | undefined> {
    const current = await openWindow();
    const recent = current.after(position, HANDFUL);
    if (recent !== undefined) {
      const last = recent.at(-1);
      // Numbers may have jumped.
      if (last === undefined)
        return position < current.end ? { changes: [], position: current.end } : undefined;
      return { changes: recent.filter((change) => passesFilter(change, filter)), position: last.seq };
    }
    const { changes, reached } = await readFiltered(database, position, HANDFUL, filter);
    // Looked at after reading: what was deleted before it is not in the changes.
    const { deletedSeq } = await readPosition(database);
    return position < deletedSeq ? 'deleted' : { changes, position: reached };
  }

  function sleep(over: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        sleepers.delete(wake);
        over.removeEventListener('abort', wake);
        resolve();
      };
      sleepers.add(wake);
      over.addEventListener('abort', wake);
      if (over.aborted) wake();
    });
  }

  async function follow(
    after: number,
    take: TakeChanges,
    over: AbortSignal,
    filter: ChangeFilter,
  ): Promise<void> {
    let position = after;
    while (!over.aborted) {
      let handful: Handful | 'deleted' | undefined;
      try {
        handful = await next(position, filter);
      } catch (error) {
        noteFailure(error);
        await clock.sleep(RETRY_MS, over).catch(() => undefined);
        continue;
      }
      if (over.aborted || handful === 'deleted') return;
      if (handful === undefined) {
        await sleep(over);
        continue;
      }
      position = handful.position;
      await take(handful.changes, position);
    }
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
    everyMs: () => (listeners > 0 ? LISTENING_MS : IDLE_MS),
    run: check,
    onError: noteFailure,
  });

  return {
    /** Up to `limit` changes with a `seq` above `after`, in order, and where the next page starts. */
    pageAfter: (after: number, limit: number, filter?: ChangeFilter): Promise<ChangePage> =>
      readChangePage(database, clock, after, limit, filter),
    position: (): Promise<FeedPosition> => readPosition(database),
    /**
     * Passes every change above `after` to `take`, in order, until `signal` aborts or the feed closes; then it
     * resolves, as it does when changes above the position of the reader were deleted. Rejects with what `take` throws. If
     * the database fails, it waits.
     */
    async subscribe(
      after: number,
      take: TakeChanges,
      signal: AbortSignal,
      filter: ChangeFilter = {},
    ): Promise<void> {
      listeners += 1;
      if (started) checks.start();
      try {
        await follow(after, take, AbortSignal.any([signal, ending.signal]), filter);
      } finally {
        listeners -= 1;
        if (listeners === 0) window = undefined;
      }
    },
    /** The highest number that this process knows. It may be behind by what others have just numbered. */
    get known(): number {
      return known;
    },
    /** This process committed changes: number them soon. Returns at once. */
    notify: (): void => sequencer.notify(),
    /** Starts to check for commits of other processes, and for changes that a dead process left without a number. */
    start(): void {
      started = true;
      checks.start();
    },
    /** Resolves when every change that was committed before the call has its number. */
    settle: (): Promise<void> => sequencer.settle(),
    /** Ends every subscription and stops. */
    async close(): Promise<void> {
      ending.abort();
      await Promise.all([sequencer.close(), checks.stop()]);
      await loading;
    },
  };
}
