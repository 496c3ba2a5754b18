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
export interface PagePipeline<Progress> {
  /** Aborts when nothing more will be stored, so reading more is useless. */
  readonly signal: AbortSignal;
  /**
   * The `commit` of the walk: resolves with true when there is room for the next page. Throws what storing
   * threw.
   */
  put(items: readonly PolledMessage[], progress: Progress): Promise<boolean>;
  /**
   * Waits until the walk has ended and everything in the pipeline is stored, even if the walk failed. Throws what
   * storing threw, `PollSuperseded` if the lease was lost, or else what the walk threw.
   */
  run<T>(walk: Promise<T>): Promise<T>;
}

export interface PipelineOptions {
  /** Maximum number of pages in the pipeline besides the one that was just added. */
  readonly maxWaiting: number;
  readonly clock: Clock;
}

interface PageBatch<Progress> {
  readonly items: PolledMessage[];
  readonly progress: Progress;
  readonly pages: number;
}

/** A page that arrives later than this after the previous one is stored separately. */
const QUICK_MS = 20;

/** Creates a pipeline for one walk. */
export function createPagePipeline<Progress>(
  store: StorePages<Progress>,
  { maxWaiting, clock }: PipelineOptions,
): PagePipeline<Progress> {
  const batchPages = Math.ceil(maxWaiting / 2);
  const halt = new AbortController();
  let waiting: PageBatch<Progress> | undefined;
  let storing: Promise<void> | undefined;
  let pages = 0;
  let lastPut = Number.NEGATIVE_INFINITY;

  async function storeBatch({ items, progress, pages: stored }: PageBatch<Progress>): Promise<void> {
    try {
      // Let the walk request its next page first: the service can then work while the statement is built.
      await nextTurn();
      if (!(await store(items, progress))) throw new PollSuperseded();
      pages -= stored;
    } catch (error) {
      halt.abort(error);
    }
    storing = undefined;
    storeWaiting(batchPages);
  }

  function storeWaiting(least: number): void {
    if (storing !== undefined || waiting === undefined || waiting.pages < least || halt.signal.aborted)
      return;
    const batch = waiting;
    waiting = undefined;
    storing = storeBatch(batch);
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
      const isSlow = now - lastPut > QUICK_MS;
      lastPut = now;
      pages += 1;
      const gathered = waiting?.items ?? [];
      gathered.push(...items);
      // The latest progress includes that of all earlier pages.
      waiting = { items: gathered, progress, pages: (waiting?.pages ?? 0) + 1 };
      storeWaiting(isSlow ? 1 : batchPages);
      await untilAtMost(maxWaiting);
      return true;
    },
    async run(walk) {
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
