import type { Clock } from '../../runtime/clock/clock.ts';
import type { PolledMessage } from '../service-client/polled.ts';
import { PollSuperseded } from './poll-context.ts';

/** Stores items of one or more pages, in order, together with the progress; false if the lease was lost. */
export type StorePages<Progress> = (items: readonly PolledMessage[], progress: Progress) => Promise<boolean>;

/**
 * Carries pages from a walk to the database, so that the next page is read while the previous ones are stored.
 * One statement runs at a time. One statement for several pages is cheaper than one for each, so pages that
 * arrive in quick succession are stored together; a single page is stored at once.
 */
export interface PageBelt<Progress> {
  /** Aborts when nothing more will be stored, so reading on is useless. */
  readonly signal: AbortSignal;
  /**
   * The `commit` of the walk: resolves with true when there is room for the next page. Throws what storing
   * threw.
   */
  put(items: readonly PolledMessage[], progress: Progress): Promise<boolean>;
  /**
   * Waits until the walk has ended and everything on the belt is stored, even if the walk failed. Throws what
   * storing threw, `PollSuperseded` if the lease was lost, or else what the walk threw.
   */
  carry<T>(walk: Promise<T>): Promise<T>;
}

export interface BeltOptions {
  /** Maximum number of pages on the belt besides the one that was just added. */
  readonly most: number;
  readonly clock: Clock;
}

interface Load<Progress> {
  readonly items: PolledMessage[];
  readonly progress: Progress;
  readonly pages: number;
}

/** A page that arrives later than this after the previous one is stored by itself. */
const QUICK_MS = 20;

/** Creates a belt for one walk. */
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
      // Let the walk request its next page first: the service can then work while the statement is built.
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
      // The latest progress includes that of all earlier pages.
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
