import type { PolledMessage } from '../service-client/polled.ts';
import { PollSuperseded } from './poll-context.ts';

/** Stores items, of one page or of several in their order, and progress as one; false: the lease is lost. */
export type StorePages<Progress> = (items: readonly PolledMessage[], progress: Progress) => Promise<boolean>;

/**
 * Carries pages from a walk to the database, so that the next page is read while the last ones are stored. One
 * statement is under way at a time, and the next one takes all pages that came meanwhile.
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

interface Load<Progress> {
  readonly items: readonly PolledMessage[];
  readonly progress: Progress;
  readonly pages: number;
}

/** Makes a belt for one walk. `most`: pages on it beside the one that was just put there. */
export function createPageBelt<Progress>(store: StorePages<Progress>, most: number): PageBelt<Progress> {
  const halt = new AbortController();
  let waiting: Load<Progress> | undefined;
  let storing: Promise<void> | undefined;
  let pages = 0;

  async function storeLoad({ items, progress, pages: stored }: Load<Progress>): Promise<void> {
    try {
      if (!(await store(items, progress))) throw new PollSuperseded();
      pages -= stored;
    } catch (error) {
      halt.abort(error);
    }
    storing = undefined;
    storeWaiting();
  }

  function storeWaiting(): void {
    if (storing !== undefined || waiting === undefined || halt.signal.aborted) return;
    const load = waiting;
    waiting = undefined;
    storing = storeLoad(load);
  }

  async function untilAtMost(left: number): Promise<void> {
    while (storing !== undefined && pages > left) await storing;
    halt.signal.throwIfAborted();
  }

  return {
    signal: halt.signal,
    async put(items, progress) {
      pages += 1;
      // The newest progress stands for all pages up to its own.
      waiting = { items: [...(waiting?.items ?? []), ...items], progress, pages: (waiting?.pages ?? 0) + 1 };
      storeWaiting();
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
