import {
  type Coverage,
  type Gap,
  type ReadResult,
  reachedTop,
  walkCoverage,
  walkGap,
} from '../../patterns/reconcile-walk.ts';
import { retryOnce } from '../../runtime/database/retry-once.ts';
import { CHANGE } from '../db/facts.ts';
import type { PolledMessage, PolledPage } from '../service-client/service-client.ts';
import { isRefusal, ServiceRefusal } from '../service-client/service-errors.ts';
import {
  noteUnread,
  OVERLAP_MS,
  PAGE_SIZE,
  type PollContext,
  PollSuperseded,
  READ_AHEAD,
} from './poll-context.ts';
import { coverageChange, type GapKind, type ProgressChange, unreadChange } from './progress.ts';
import { storePage } from './store-page.ts';

/** Stores items of one or more pages, in order, together with the progress; false if the lease was lost. */
export type StorePages<Progress> = (items: readonly PolledMessage[], progress: Progress) => Promise<boolean>;

interface PageBatch<Progress> {
  readonly items: PolledMessage[];
  readonly progress: Progress;
  readonly pages: number;
}

/**
 * Carries the pages of one walk to the database, so that the next page is read while the previous ones are stored.
 * One statement runs at a time, with everything that arrived during the one before: one statement for several pages is
 * cheaper than one for each. At most `READ_AHEAD` pages are in it besides the one that was just added.
 */
export function createPagePipeline<Progress>(store: StorePages<Progress>) {
  const halt = new AbortController();
  /** Aborts when nothing more will be stored, so reading more is useless. */
  const signal: AbortSignal = halt.signal;
  let waiting: PageBatch<Progress> | undefined;
  let storing: Promise<void> | undefined;
  let pages = 0;

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
    storeWaiting();
  }

  function storeWaiting(): void {
    if (storing !== undefined || waiting === undefined || signal.aborted) return;
    const batch = waiting;
    waiting = undefined;
    storing = storeBatch(batch);
  }

  async function untilAtMost(left: number): Promise<void> {
    while (pages > left && !signal.aborted) await storing;
    signal.throwIfAborted();
  }

  return {
    signal,
    /**
     * The `commit` of the walk: resolves with true when there is room for the next page. Throws what storing
     * threw.
     */
    async put(items: readonly PolledMessage[], progress: Progress): Promise<boolean> {
      pages += 1;
      const gathered = waiting?.items ?? [];
      gathered.push(...items);
      // The latest progress includes that of all earlier pages.
      waiting = { items: gathered, progress, pages: (waiting?.pages ?? 0) + 1 };
      storeWaiting();
      await untilAtMost(READ_AHEAD);
      return true;
    },
    /**
     * Waits until the walk has ended and everything in the pipeline is stored, even if the walk failed. Throws what
     * storing threw, `PollSuperseded` if the lease was lost, or else what the walk threw.
     */
    async run<T>(walk: Promise<T>): Promise<T> {
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

/** How far a walk of the coverage came. */
export interface CoverageWalk {
  readonly closed: boolean;
  /** A gap was read to its end, or none was open. */
  readonly advanced: boolean;
  /** The newest page was enough, and did not move the watermark. */
  readonly idle: boolean;
  /**
   * Everything created from this time on was read in this walk, statuses included; null means everything.
   * Undefined if there is no such time, because older gaps were open.
   */
  readonly readDownTo: number | null | undefined;
}

/** Resolves with the newest page of messages, which was requested already; rejects as the request did. */
export type NewestPage = () => Promise<PolledPage>;

/** Walks from the newest page down to the watermark, and through the oldest gaps. Throws as a poll does. */
export async function walkAccount(
  context: PollContext,
  before: Coverage,
  latest: number,
  newest: NewestPage,
): Promise<CoverageWalk> {
  const { budget, maxIdlePages, clock } = context;
  const begun = clock.elapsed();
  const pipeline = createPagePipeline<Coverage>((items, coverage) =>
    commitPages(context, items, coverageChange(coverage)),
  );
  const request = { kind: 'coverage', signal: AbortSignal.any([context.signal, pipeline.signal]) } as const;
  let ahead = 0;
  let leave = (): void => undefined;
  let isLong = false;
  let taken = false;
  const stored = new Set(before.gaps.map((gap) => gap.cursor));
  const read = async (cursor: string | null): Promise<ReadResult<PolledMessage>> => {
    if (cursor !== null && !isLong) {
      isLong = true;
      leave = await context.enterLongWalk();
    }
    const isStored = stored.has(cursor);
    const answer = await readPage(context, {
      ...request,
      cursor,
      isStored,
      newest: taken ? undefined : newest,
    });
    taken = true;
    if (answer === 'cursor_lost') return answer;
    if (cursor === null) ahead = noteAhead(context, answer.page.items, latest);
    return answer;
  };
  const io = {
    read,
    hasSeen: async (items: readonly PolledMessage[]) =>
      (await findUnseen(context, kept(context, items))).length === 0,
    commit: pipeline.put,
  };
  const options = {
    overlapMs: OVERLAP_MS,
    latest,
    maxPages: budget.coverage,
    maxIdlePages,
    mayReadOn: () => clock.elapsed() - begun < (budget.coverageMs ?? 0),
  };
  const result = await pipeline.run(walkCoverage(before, io, options)).finally(() => leave());
  const { watermark } = result.progress;
  const reached = reachedTop(result.progress);
  context.metrics.coverageLag.set(
    { account: context.accountId },
    reached === null ? 0 : (reached - (watermark ?? reached)) / 1_000,
  );
  const closed = result.outcome === 'closed';
  const advanced = closed || result.gapsClosed > 0;
  const idle = closed && result.pages === 1 && watermark === before.watermark && ahead <= 0;
  const walk = { closed, advanced, idle };
  if (!closed || before.gaps.length > 0) return { ...walk, readDownTo: undefined };
  const from = reachedTop(before);
  return { ...walk, readDownTo: from === null ? null : from - OVERLAP_MS };
}

/** How far the times of the service may be ahead. Generous, because a wrong time costs pages in every poll. */
function noteAhead(
  { metrics, accountId }: PollContext,
  items: readonly PolledMessage[],
  latest: number,
): number {
  // A time that could not be read is not a number, and not later than any.
  const newest = items.reduce((found, { createdAt }) => (createdAt > found ? createdAt : found), latest);
  metrics.ahead.set({ account: accountId }, (newest - latest) / 1_000);
  return newest - latest;
}

export interface GapWalk {
  readonly gap: Gap;
  readonly connectionId?: string;
  readonly kind: 'visibility' | 'sweep';
  readonly maxPages: number;
  /** What to store with each page: the gap in its new state, or null if the page closed it. */
  readonly change: (gap: Gap | null) => ProgressChange;
}

/** Walks one gap that is not part of the coverage. Resolves with whether it is closed, and the number of pages. */
export async function walkOneGap(
  context: PollContext,
  walk: GapWalk,
): Promise<{ closed: boolean; pages: number }> {
  const { connectionId, kind, maxPages } = walk;
  const pipeline = createPagePipeline<Gap | null>((items, gap) =>
    commitPages(context, items, walk.change(gap)),
  );
  const signal = AbortSignal.any([context.signal, pipeline.signal]);
  const request = { kind, signal, ...(connectionId === undefined ? {} : { connectionId }) };
  const io = {
    read: (cursor: string | null) =>
      readPage(context, { ...request, cursor, isStored: cursor === walk.gap.cursor }),
    commit: pipeline.put,
  };
  const leave = await context.enterLongWalk();
  const result = await pipeline
    .run(walkGap(walk.gap, io, { maxPages, maxIdlePages: context.maxIdlePages }))
    .finally(leave);
  return { closed: result.outcome === 'closed', pages: result.pages };
}

/**
 * Those that polling has not stored before, and may store. Messages of another account are never stored by this one,
 * and erased ones never change. One whose time cannot be read proves nothing about the end of a walk, so it is known as
 * soon as it is stored.
 */
async function findUnseen(
  { database, accountId }: PollContext,
  items: readonly PolledMessage[],
): Promise<readonly PolledMessage[]> {
  const rows = await database.query<{ position: number }>(
    `select i.position from unnest($2::text[], $3::text[], $4::boolean[]) with ordinality as i(connection_id, id, certain, position)
       join connector.connections c on c.connection_id = i.connection_id and c.account_id = $1
       left join connector.messages m on m.id = i.id and m.connection_id = i.connection_id
      where case when i.certain then (m.polled or m.erased) is not true else m.id is null end
        and not exists (select from connector.expired_messages x where x.id = i.id and x.connection_id = i.connection_id)`,
    [
      accountId,
      items.map((item) => item.connectionId),
      items.map((item) => item.id),
      items.map((item) => item.certain),
    ],
  );
  const unseen = new Set(rows.map(({ position }) => position - 1));
  return items.filter((_, index) => unseen.has(index));
}

/** Those that are to be stored: a message whose time can be read, and is before the history of its connection, is not. */
function kept({ historyFrom }: PollContext, items: readonly PolledMessage[]): readonly PolledMessage[] {
  if (historyFrom.size === 0) return items;
  return items.filter(
    (item) => !(item.certain && item.createdAt < (historyFrom.get(item.connectionId) ?? 0)),
  );
}

/** Stores progress without a page. */
export async function storeProgress(context: PollContext, change: ProgressChange): Promise<void> {
  if (!(await commitPages(context, [], change))) throw new PollSuperseded();
}

interface PageRequest {
  readonly cursor: string | null;
  /** An earlier poll stored the cursor. */
  readonly isStored: boolean;
  readonly kind: Exclude<GapKind, 'unread'>;
  readonly connectionId?: string;
  /** The newest page, if it was requested already. */
  readonly newest?: NewestPage | undefined;
  /** Aborts when the poll should stop, or when the page could not be stored anyway. */
  readonly signal: AbortSignal;
}

async function readPage(context: PollContext, request: PageRequest): Promise<ReadResult<PolledMessage>> {
  const { client, clock, metrics, logger, accountId } = context;
  const { cursor, kind, connectionId, signal } = request;
  try {
    const page =
      cursor === null && request.newest !== undefined
        ? await request.newest()
        : await client.listMessages({ connectionId, cursor, limit: PAGE_SIZE }, signal);
    metrics.pages.inc({ kind });
    if (page.invalid.length > 0) {
      const { invalid } = page;
      metrics.invalid.inc({ what: 'record' }, invalid.length);
      logger.warn(
        { accountId, count: invalid.length, invalid },
        'messages could not be read and were left out',
      );
      // Where the page ends: reading the list again down to there finds the record.
      const time = page.items.reduce(
        (found, { createdAt }) => (createdAt < found ? createdAt : found),
        clock.now(),
      );
      await storeProgress(context, unreadChange(time, invalid.length));
    }
    noteUnread(context, page.unread, 'message');
    return { page };
  } catch (error) {
    if (cursor === null || !isLostCursor(error, request.isStored, context)) throw error;
    metrics.lostCursors.inc();
    logger.info({ accountId, kind }, 'a cursor is no longer valid; its gap is read from the start');
    return 'cursor_lost';
  }
}

/** Something is wrong with the request, whoever says so. */
const WRONG_REQUEST: ReadonlySet<number> = new Set([400, 404, 410, 414, 422, 431]);
/** Half an hour. Reading a long list from its start is no help for a service that is slow. */
const MAX_FAILURES = 10;

/**
 * The limit and the connection are our own values, so an `invalid_request` that names no other field refers to the
 * cursor. A service that was updated since may answer a stored cursor in any way, and go on doing so.
 */
function isLostCursor(error: unknown, isStored: boolean, { failures }: PollContext): boolean {
  if (isRefusal(error, 'invalid_request') && (error.field ?? 'cursor') === 'cursor') return true;
  if (!isStored || !(error instanceof ServiceRefusal)) return false;
  return WRONG_REQUEST.has(error.status) || (error.status >= 500 && failures >= MAX_FAILURES);
}

async function commitPages(
  context: PollContext,
  items: readonly PolledMessage[],
  change: ProgressChange,
): Promise<boolean> {
  const { metrics } = context;
  const result = await retryOnce(() => storePage(context, kept(context, items), change));
  for (const [mask, count] of result.masks) {
    // An incoming message has no status. The list contains no sender; a late webhook may still report it.
    if (mask & CHANGE.created && !(mask & CHANGE.status)) metrics.withoutSender.inc(count);
    if (mask & CHANGE.created) metrics.merged.inc({ what: 'created' }, count);
    else if (mask & CHANGE.status) metrics.merged.inc({ what: 'status' }, count);
    else if (mask & CHANGE.fields) metrics.merged.inc({ what: 'fields' }, count);
  }
  if (result.masks.size > 0) context.onCommitted();
  return result.applied;
}
