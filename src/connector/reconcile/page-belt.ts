import type { Clock } from '../../runtime/clock/clock.ts';
import type { PolledMessage } from '../service-client/polled.ts';
import { PollSuperseded } from './poll-context.ts';

/** Stores items, of one page or of several in their order, and progress as one; false: the lease is lost. */
export type StorePages<Progress> = (items: readonly PolledMessage[], progress: Progress) => Promise<boolean>;

/**
 * Carries pages from a walk to the database, so that the next page is read while the last ones are stored. One
 * statement is under way at a time. A statement of several pages costs less than one for each, so pages that
 * follow each other quickly are gathered; one that comes alone is stored at once.
 */
export interface PageBelt<Progress> {
  /** Aborts when nothing more will be stored: what is being read is in vain. */
  readonly signal: AbortSignal;
  /** The walk's `commit`: resolves with true when there is room for the next page. Throws as storing did. */
  put(items: readonly PolledMessage[], progress: Progress): Promise<boolean>;
  /**
   * Waits for the walk, and until everything on the belt is stored, also when the walk failed.
   * Throws what storing threw, `PollSuperseded` when the lease is lost, or else what the walk threw.
   */
  carry<T>(walk: Promise<T>): Promise<T>;
}

export interface BeltOptions {
  /** Pages on it beside the one that was just put there. */
  readonly most: number;
  readonly clock: Clock;
}

interface Load<Progress> {
  readonly items: PolledMessage[];
  readonly progress: Progress;
  readonly pages: number;
}

/** A page that comes later than this after the one before it comes alone. */
const QUICK_MS = 20;

/** Makes a belt for one walk. */
export function createPageBelt<Progress>(
  store: StorePages<Progress>,
  { most, clock }: BeltOptions,
): PageBelt<Progress> {
  const enough = Math.ceil(most / 2);
  const halt = new AbortController();
  let waiting: Load<Progress> | undefined;
  let storing: Promise<void> | undefined;
  let pages = 0;
  let lastPut = Number.NEGATIVE_INFINITY;

  async function storeLoad({ items, progress, pages: stored }: Load<Progress>): Promise<void> {
    try {
      // First the walk asks for its next page: the service is at work on it while the statement is made.
      await nextTurn();
      if (!(await store(items, progress))) throw new PollSuperseded();
      pages -= stored;
    } catch (error) {
      halt.abort(error);
    }
    storing = undefined;
    storeWaiting(enough);
  }

  function storeWaiting(least: number): void {
    if (storing !== undefined || waiting === undefined || waiting.pages < least || halt.signal.aborted)
      return;
    const load = waiting;
    waiting = undefined;
    storing = storeLoad(load);
  }

  async function untilAtMost(left: number): Promise<void> {
    while (pages > left && !halt.signal.aborted) {
      storeWaiting(1);
      await storing;
    }
    halt.signal.throwIfAborted();
  }

  return {
    signal: halt.signal,
    async put(items, progress) {
      const now = clock.elapsed();
      const alone = now - lastPut > QUICK_MS;
      lastPut = now;
      pages += 1;
      const gathered = waiting?.items ?? [];
      gathered.push(...items);
      // The newest progress stands for all pages up to its own.
      waiting = { items: gathered, progress, pages: (waiting?.pages ?? 0) + 1 };
      storeWaiting(alone ? 1 : enough);
      await untilAtMost(most);
      return true;
    },
    async carry(walk) {
      try {
        return await walk;
      } finally {
        await untilAtMost(0);
      }
    },
  };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
