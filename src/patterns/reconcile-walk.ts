/**
 * The rule: events can be dropped, so a client reconciles by polling `GET /messages`, newest first, by
 * cursor.
 *
 * The mistake that this prevents: a poll that stops at the first known message. That message was stored by an
 * event, and the dropped one below it is never seen.
 *
 * What has been seen is stored as a time, because ids do not sort by time. Polling has seen everything
 * created before the watermark. A walk starts at the newest page and continues until a page lies completely
 * below the watermark minus an overlap. What one walk leaves unread is a gap, which is closed later, oldest
 * first.
 *
 * Times are hints. A single message dated 2099, or a service clock that runs ahead for a minute, must not end
 * every later walk on its first page. Therefore a time beyond `latest` is stored but proves nothing, a
 * watermark beyond it is void, and a page with anything new never ends a walk, whatever its times are. A
 * wrong time costs pages, never messages.
 *
 * Cursors are somebody else's answers: a list whose cursors go round would be read forever. So a walk must get
 * on, whatever the service answers: down in time, or to messages that polling has not stored. If it does not,
 * it has stalled.
 *
 * `createdAt` is epoch milliseconds: `Date.parse(message.createdAt)`. Reading and storing are passed in as
 * functions; `commit` must store the items and the progress together, or a crash between the two would lose a
 * page.
 */

/** What a walk reads of a message. */
export interface Listed {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
}

export interface Page<Item> {
  /** Newest first. */
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
  readonly hasMore: boolean;
}

/** One unread section of the list. Times are epoch milliseconds. */
export interface Gap {
  /** How far down it was read: the newest time of its lowest page. Null if nothing was read. */
  readonly top: number | null;
  /** Read down to here, the overlap included. Null for the end of the list. */
  readonly floor: number | null;
  /** The cursor to continue at. Null for the newest page. */
  readonly cursor: string | null;
  /** What the watermark may advance to once this gap is closed: the newest time of the walk that left it. */
  readonly nextTop: number | null;
  /** How often its cursor was lost. */
  readonly restarts: number;
}

export interface Coverage {
  /** Polling has seen everything created before this time. Null for nothing. */
  readonly watermark: number | null;
  /** Oldest first. */
  readonly gaps: readonly Gap[];
}

/** The initial state: the first walk reads the whole list. */
export const NOTHING_SEEN: Coverage = { watermark: null, gaps: [] };

/** The result of reading a page: the page, or the fact that the service no longer accepts the cursor. */
export type ReadResult<Item> = { readonly page: Page<Item> } | 'cursor_lost';

export interface WalkIo<Item, Progress> {
  read(cursor: string | null): Promise<ReadResult<Item>>;
  /**
   * True if polling, and not only an event, has stored all of these before. Called for a page that could end
   * a walk, or that does not lie below those before it.
   */
  hasSeen(items: readonly Item[]): Promise<boolean>;
  /** Stores items and progress atomically; false if another process owns the walk by now. */
  commit(items: readonly Item[], progress: Progress): Promise<boolean>;
}

export interface WalkResult<Progress> {
  /** `closed`: no gap is left. `open`: the budget is used up. `superseded`: a commit was rejected. */
  readonly outcome: 'closed' | 'open' | 'superseded';
  readonly progress: Progress;
  readonly pages: number;
  /** Gaps that were read completely. */
  readonly gapsClosed: number;
}

/**
 * The list cannot be read further: a page claims that there is more but has no cursor, or one that was given
 * before; many pages in a row contain nothing new; or the service rejects the cursors that it has just
 * returned. Continuing might never end: wait, longer each time, and alert somebody. The next walk continues
 * where this one stopped.
 */
export class StalledWalk extends Error {
  override readonly name = 'StalledWalk';
}

export interface WalkLimits {
  /** Maximum number of pages per period. */
  readonly maxPages: number;
  /**
   * The walk stalls after this many pages in a row with nothing new: empty, repeated, or known and not below
   * those before. Default: 20, or `maxPages` if that is less. Use a few after a stall, until a walk succeeds.
   */
  readonly maxIdlePages?: number | undefined;
}

export interface CoverageOptions extends WalkLimits {
  /**
   * Each walk goes this far below what was seen, because messages can be slightly out of order and clocks
   * differ slightly.
   */
  readonly overlapMs: number;
  /**
   * The latest time that a message can plausibly have now: your clock, or the `Date` of the service if that
   * is earlier.
   */
  readonly latest: number;
  /** Called before each further page: true while there is time for one more. */
  readonly mayReadOn?: () => boolean;
}

/** The newest time that polling has reached, whether or not there are gaps below it. */
export function reachedTop(coverage: Coverage): number | null {
  return later(coverage.watermark, coverage.gaps.at(-1)?.nextTop ?? null);
}

/** Coverage without impossible times. A watermark in the future is void: newer messages may be unseen. */
function boundCoverage(coverage: Coverage, { latest, overlapMs }: CoverageOptions): Coverage {
  // The overlap covers a clock that was set back by less.
  const bound = (time: number | null): number | null =>
    // `NaN` compares as false, so it is void as well.
    time !== null && time <= latest + overlapMs ? time : null;
  return {
    watermark: bound(coverage.watermark),
    gaps: coverage.gaps.map((gap) => ({ ...gap, floor: bound(gap.floor), nextTop: bound(gap.nextTop) })),
  };
}

/**
 * Runs one period: the newest page first, so that a long catch-up never delays the newest messages, then the
 * oldest gaps, up to `maxPages` or as long as `mayReadOn` returns true. If its cursor keeps getting lost, a
 * gap gets a double budget: otherwise, with cursors that expire within a period, it would start over
 * forever. Throws what `io` throws, and `StalledWalk`; what was committed until then is kept.
 * [delivery.reconcile]
 */
export async function walkCoverage<Item extends Listed>(
  start: Coverage,
  io: WalkIo<Item, Coverage>,
  options: CoverageOptions,
): Promise<WalkResult<Coverage>> {
  const read = refusingStalls(io);
  const first = await read(null);
  if (first === 'cursor_lost') throw new StalledWalk('the service refused to return the newest page');
  const bounded = boundCoverage(start, options);
  const reached = reachedTop(bounded);
  const floor = reached === null ? null : reached - options.overlapMs;
  const known = mayEnd(floor, first.page) && (await io.hasSeen(first.page.items));
  let progress = openWalk(bounded, floor, first.page, known, options.latest);
  if (!(await io.commit(first.page.items, progress))) {
    return { outcome: 'superseded', progress: start, pages: 1, gapsClosed: 0 };
  }
  let pages = 1;
  let gapsClosed = 0;
  let watch = watchPages(options);
  for (let gap = progress.gaps[0]; gap !== undefined; gap = progress.gaps[0]) {
    if (pages >= budget(options.maxPages, gap) && options.mayReadOn?.() !== true) {
      return { outcome: 'open', progress, pages, gapsClosed };
    }
    const answer = await read(gap.cursor);
    pages += 1;
    const page = answer === 'cursor_lost' ? null : answer.page;
    const isBelow = page === null || watch.isBelow(gap, page);
    const seen = page !== null && (!isBelow || mayEnd(gap.floor, page)) && (await io.hasSeen(page.items));
    const next =
      page === null
        ? { ...progress, gaps: [restart(gap), ...progress.gaps.slice(1)] }
        : advanceOldest(progress, gap, page, seen, options.latest);
    if (!(await io.commit(page?.items ?? [], next)))
      return { outcome: 'superseded', progress, pages, gapsClosed };
    const closed = progress.gaps.length - next.gaps.length;
    gapsClosed += closed;
    progress = next;
    if (page === null || closed > 0) watch = watchPages(options);
    else watch.check(gap.cursor, page, isBelow || !seen);
  }
  return { outcome: 'closed', progress, pages, gapsClosed };
}

/**
 * Reads one separate section, independent of the watermark: a connection that reappeared, a sweep of old
 * statuses.
 */
export async function walkGap<Item extends Listed>(
  start: Gap,
  io: Omit<WalkIo<Item, Gap | null>, 'hasSeen'>,
  options: WalkLimits,
): Promise<WalkResult<Gap | null>> {
  const read = refusingStalls(io);
  let gap = start;
  let watch = watchPages(options);
  for (let pages = 1; ; pages += 1) {
    const answer = await read(gap.cursor);
    const page = answer === 'cursor_lost' ? null : answer.page;
    const isBelow = page === null || watch.isBelow(gap, page);
    const next = page === null ? restart(gap) : advance(gap, page, true);
    if (!(await io.commit(page?.items ?? [], next)))
      return { outcome: 'superseded', progress: gap, pages, gapsClosed: 0 };
    if (next === null) return { outcome: 'closed', progress: null, pages, gapsClosed: 1 };
    if (page === null) watch = watchPages(options);
    else watch.check(gap.cursor, page, isBelow);
    gap = next;
    if (pages >= budget(options.maxPages, gap))
      return { outcome: 'open', progress: gap, pages, gapsClosed: 0 };
  }
}

/**
 * Reads pages for one walk. A cursor returned in this walk may be lost once; if it happens again, the service
 * accepts no cursors.
 */
function refusingStalls<Item>(io: Pick<WalkIo<Item, never>, 'read'>): WalkIo<Item, never>['read'] {
  const given = new Set<string>();
  let refused = 0;
  return async (cursor) => {
    const answer = await io.read(cursor);
    if (answer !== 'cursor_lost') {
      if (answer.page.nextCursor !== null) given.add(answer.page.nextCursor);
    } else if (cursor !== null && given.has(cursor)) {
      refused += 1;
      if (refused > 1) throw new StalledWalk('the service rejects the cursors that it has just returned');
    }
    return answer;
  };
}

/** More than a list that is slightly out of order ever has, and soon reached by a list without end. */
const MAX_IDLE_PAGES = 20;

/** Watches the pages of one gap: they must get on. */
function watchPages({ maxPages, maxIdlePages = Math.min(MAX_IDLE_PAGES, maxPages) }: WalkLimits) {
  const cursors = new Set<string | null>();
  /** The messages at the top of the gap: with equal times, only their ids tell whether a page is a repetition. */
  let atTop = new Set<string>();
  let idle = 0;
  return {
    /** True if the page lies below the pages before it, or beside them with other messages. */
    isBelow(gap: Gap, page: Page<Listed>): boolean {
      const top = newest(page.items);
      if (top === null || (gap.top !== null && top > gap.top)) return false;
      if (gap.top === null || top < gap.top) atTop = new Set();
      const known = atTop.size;
      for (const { id } of page.items) atTop.add(id);
      return atTop.size > known;
    },
    /** Throws if the walk must not continue below a page that was stored. `asked` is the cursor that returned it. */
    check(asked: string | null, { nextCursor }: Page<Listed>, getsOn: boolean): void {
      cursors.add(asked);
      if (nextCursor === null) throw new StalledWalk('a page claims that there is more but has no cursor');
      if (cursors.has(nextCursor)) throw new StalledWalk('a page has a cursor that was given before');
      idle = getsOn ? 0 : idle + 1;
      if (idle >= maxIdlePages) throw new StalledWalk(`${idle} pages in a row contain nothing new`);
    },
  };
}

/** Only a page that reaches below the floor can end a walk before the end of the list. */
function mayEnd(floor: number | null, page: Page<Listed>): boolean {
  return floor !== null && page.hasMore && (oldest(page.items) ?? floor) < floor;
}

/** Coverage after the newest page: either seen down to what was known, or a new gap below the page. */
function openWalk(
  coverage: Coverage,
  floor: number | null,
  page: Page<Listed>,
  seen: boolean,
  latest: number,
): Coverage {
  const gap: Gap = { top: null, floor, cursor: null, nextTop: newest(page.items, latest), restarts: 0 };
  const next = isIdle(coverage, page, seen, latest) ? null : advance(gap, page, seen);
  if (next === null) return raiseReached(coverage, gap.nextTop);
  // Only the oldest gap is ever worked on. A younger one is untouched, and the new walk, opened above it,
  // takes over its floor: a catch-up of any length has two gaps, not one per period.
  const untouched = coverage.gaps.length > 1 ? coverage.gaps.at(-1) : undefined;
  if (untouched === undefined) return { ...coverage, gaps: [...coverage.gaps, next] };
  return { ...coverage, gaps: [...coverage.gaps.slice(0, -1), { ...next, floor: untouched.floor }] };
}

/** There is no gap, the page reaches below what was seen and contains nothing newer: most polls end here. */
function isIdle(
  { gaps, watermark }: Coverage,
  { items }: Page<Listed>,
  seen: boolean,
  latest: number,
): boolean {
  const top = newest(items, latest);
  return gaps.length === 0 && seen && watermark !== null && top !== null && top <= watermark;
}

/** Coverage after one more page of its oldest gap. */
function advanceOldest(
  coverage: Coverage,
  gap: Gap,
  page: Page<Listed>,
  seen: boolean,
  latest: number,
): Coverage {
  const younger = coverage.gaps.slice(1);
  // If the pages above had no plausible time, the first page that has one determines how far was seen.
  const nextTop = gap.nextTop ?? newest(page.items, latest);
  const next = advance({ ...gap, nextTop }, page, seen);
  if (next !== null) return { ...coverage, gaps: [next, ...younger] };
  return { watermark: later(coverage.watermark, nextTop), gaps: younger };
}

/** The gap below this page, or null if the page ends it. */
function advance(gap: Gap, page: Page<Listed>, seen: boolean): Gap | null {
  const top = newest(page.items);
  const whollyBelow = seen && gap.floor !== null && top !== null && top < gap.floor;
  if (whollyBelow || !page.hasMore) return null;
  return { ...gap, top: earlier(gap.top, top), cursor: page.nextCursor ?? gap.cursor };
}

function restart(gap: Gap): Gap {
  if (gap.cursor === null) throw new StalledWalk('the service refused to return the newest page');
  return { ...gap, top: null, cursor: null, restarts: gap.restarts + 1 };
}

/** A walk that closed at once has seen everything between its page and the previous walk. */
function raiseReached(coverage: Coverage, top: number | null): Coverage {
  const youngest = coverage.gaps.at(-1);
  if (youngest === undefined) return { ...coverage, watermark: later(coverage.watermark, top) };
  const raised = { ...youngest, nextTop: later(youngest.nextTop, top) };
  return { ...coverage, gaps: [...coverage.gaps.slice(0, -1), raised] };
}

const MAX_DOUBLINGS = 10;

function budget(maxPages: number, gap: Gap): number {
  return maxPages * 2 ** Math.min(gap.restarts, MAX_DOUBLINGS);
}

// Every item is checked, because the items of a page may be slightly out of order.
function newest(items: readonly Listed[], latest = Number.POSITIVE_INFINITY): number | null {
  return items.reduce<number | null>(
    // A time that could not be parsed is not a number, and proves nothing.
    (found, { createdAt }) => (createdAt <= latest ? later(found, createdAt) : found),
    null,
  );
}

function oldest(items: readonly Listed[]): number | null {
  return items.reduce<number | null>(
    (found, { createdAt }) => (Number.isNaN(createdAt) ? found : earlier(found, createdAt)),
    null,
  );
}

function later(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.max(a, b);
}

function earlier(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}
