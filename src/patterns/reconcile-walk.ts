/**
 * The rule: events can be dropped, so a client reconciles by polling `GET /messages`, newest first, by cursor.
 *
 * The mistake that this prevents: a poll that stops at the first message it knows. An event stored that one, and
 * the dropped one below it is never seen.
 *
 * What has been seen is kept as a time: ids do not sort by time. Everything created before the
 * watermark has been seen by polling. A walk goes down from the newest page until a page lies wholly below
 * the watermark less an overlap. What one walk leaves open is a gap, closed later, oldest first.
 *
 * Every time in here is the service's own, so no clock is needed. Reading and storing come in as functions;
 * `commit` must store the items and the progress together, or a crash between the two would lose a page.
 */

export interface Page<Item> {
  /** Newest first. */
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
  readonly hasMore: boolean;
}

/** One open stretch of the list. Times are epoch milliseconds. */
export interface Gap {
  /** The oldest time read so far: what is still unseen lies between `floor` and here. Null: nothing was read. */
  readonly top: number | null;
  /** Read down to here, the overlap included. Null: to the end of the list. */
  readonly floor: number | null;
  /** Where to go on. Null: at the newest page. */
  readonly cursor: string | null;
  /** What the watermark may rise to once this gap is closed: the newest time of the walk that left it. */
  readonly nextTop: number | null;
  /** How often its cursor was lost. */
  readonly restarts: number;
}

export interface Coverage {
  /** Everything created before this time has been seen by polling. Null: nothing has. */
  readonly watermark: number | null;
  /** Oldest first. */
  readonly gaps: readonly Gap[];
}

/** What reading a page brings: the page, or the news that the service no longer takes the cursor. */
export type ReadResult<Item> = { readonly page: Page<Item> } | 'cursor_lost';

export interface WalkIo<Item, Progress> {
  read(cursor: string | null): Promise<ReadResult<Item>>;
  /** Stores items and progress as one; false when somebody else owns the walk by now. */
  commit(items: readonly Item[], progress: Progress): Promise<boolean>;
}

export interface WalkResult<Progress> {
  /** `closed`: nothing is left open. `open`: the budget is used up. `superseded`: a commit was refused. */
  readonly outcome: 'closed' | 'open' | 'superseded';
  readonly progress: Progress;
  readonly pages: number;
  /** Gaps that were read to their end. */
  readonly gapsClosed: number;
}

/** A page that leads nowhere: it claims more but names no new cursor. To go on would never end. */
export class StalledWalk extends Error {
  override readonly name = 'StalledWalk';
}

export interface CoverageOptions {
  readonly overlapMs: number;
  /** Pages of one period. */
  readonly maxPages: number;
  /** Asked before each page beyond these: true while there is time for one more. */
  readonly mayReadOn?: () => boolean;
}

/** The newest time that polling has reached, gaps below it or not. */
export function reachedTop(coverage: Coverage): number | null {
  return later(coverage.watermark, coverage.gaps.at(-1)?.nextTop ?? null);
}

/** Coverage after the newest page: either seen down to what was known, or a new gap below the page. */
export function openWalk<Item extends { createdAt: number }>(
  coverage: Coverage,
  page: Page<Item>,
  overlapMs: number,
): Coverage {
  const reached = reachedTop(coverage);
  const floor = reached === null ? null : reached - overlapMs;
  const gap: Gap = { top: null, floor, cursor: null, nextTop: newest(page.items), restarts: 0 };
  const next = isIdle(coverage, page, overlapMs) ? null : advance(gap, null, page);
  if (next === null) return raiseReached(coverage, gap.nextTop);
  // Only the oldest gap is ever worked on. A younger one is untouched, and the new walk, opened above it,
  // takes over its floor: a catch-up of any length keeps two gaps, not one per period.
  const untouched = coverage.gaps.length > 1 ? coverage.gaps.at(-1) : undefined;
  if (untouched === undefined) return { ...coverage, gaps: [...coverage.gaps, next] };
  return { ...coverage, gaps: [...coverage.gaps.slice(0, -1), { ...next, floor: untouched.floor }] };
}

/** Nothing is open, nothing is newer than what was seen, and the page reaches below it: mostly a poll ends here. */
function isIdle(
  { gaps, watermark }: Coverage,
  { items }: Page<{ createdAt: number }>,
  overlapMs: number,
): boolean {
  const [top, bottom] = [newest(items), oldest(items)];
  if (gaps.length > 0 || watermark === null || top === null || bottom === null) return false;
  return top <= watermark && bottom < watermark - overlapMs;
}

/** Coverage after one more page of the oldest gap. */
export function advanceOldest<Item extends { createdAt: number }>(
  coverage: Coverage,
  page: Page<Item>,
): Coverage {
  const [oldest, ...younger] = coverage.gaps;
  if (oldest === undefined) return coverage;
  const next = advance(oldest, oldest.cursor, page);
  if (next !== null) return { ...coverage, gaps: [next, ...younger] };
  return { watermark: later(coverage.watermark, oldest.nextTop), gaps: younger };
}

/** Coverage after the service refused the cursor of the oldest gap: that gap starts again at the top. */
export function restartOldest(coverage: Coverage): Coverage {
  const [oldest, ...younger] = coverage.gaps;
  return oldest === undefined ? coverage : { ...coverage, gaps: [restart(oldest), ...younger] };
}

/**
 * One period: the newest page first, so that a long catch-up never blinds the newest, then the oldest gaps,
 * up to `maxPages` or as long as `mayReadOn` says. A cursor that keeps being lost doubles the budget, or cursors
 * that live shorter than a period would start the same gap again for ever.
 * Throws what `read` and `commit` throw, and `StalledWalk`; what was committed until then stays.
 */
export async function walkCoverage<Item extends { createdAt: number }>(
  start: Coverage,
  io: WalkIo<Item, Coverage>,
  options: CoverageOptions,
): Promise<WalkResult<Coverage>> {
  const first = await io.read(null);
  if (first === 'cursor_lost') throw new StalledWalk('the service refused to give the newest page');
  let progress = openWalk(start, first.page, options.overlapMs);
  if (!(await io.commit(first.page.items, progress))) {
    return { outcome: 'superseded', progress: start, pages: 1, gapsClosed: 0 };
  }
  let pages = 1;
  let gapsClosed = 0;
  for (let gap = progress.gaps[0]; gap !== undefined; gap = progress.gaps[0]) {
    if (pages >= budget(options.maxPages, gap) && options.mayReadOn?.() !== true) {
      return { outcome: 'open', progress, pages, gapsClosed };
    }
    const answer = await io.read(gap.cursor);
    pages += 1;
    const items = answer === 'cursor_lost' ? [] : answer.page.items;
    const next = answer === 'cursor_lost' ? restartOldest(progress) : advanceOldest(progress, answer.page);
    if (!(await io.commit(items, next))) return { outcome: 'superseded', progress, pages, gapsClosed };
    gapsClosed += progress.gaps.length - next.gaps.length;
    progress = next;
  }
  return { outcome: 'closed', progress, pages, gapsClosed };
}

/** One stretch of its own, apart from the watermark: a connection that came back, a sweep of old statuses. */
export async function walkGap<Item extends { createdAt: number }>(
  start: Gap,
  io: WalkIo<Item, Gap | null>,
  options: { readonly maxPages: number },
): Promise<WalkResult<Gap | null>> {
  let gap = start;
  for (let pages = 1; ; pages += 1) {
    const answer = await io.read(gap.cursor);
    const items = answer === 'cursor_lost' ? [] : answer.page.items;
    const next = answer === 'cursor_lost' ? restart(gap) : advance(gap, gap.cursor, answer.page);
    if (!(await io.commit(items, next)))
      return { outcome: 'superseded', progress: gap, pages, gapsClosed: 0 };
    if (next === null) return { outcome: 'closed', progress: null, pages, gapsClosed: 1 };
    gap = next;
    if (pages >= budget(options.maxPages, gap))
      return { outcome: 'open', progress: gap, pages, gapsClosed: 0 };
  }
}

/** The gap below this page, or null when the page ends it. `asked` is the cursor that brought the page. */
function advance(gap: Gap, asked: string | null, page: Page<{ createdAt: number }>): Gap | null {
  const top = newest(page.items);
  const whollyBelow = gap.floor !== null && top !== null && top < gap.floor;
  if (whollyBelow || !page.hasMore) return null;
  if (page.nextCursor === null || page.nextCursor === asked) {
    throw new StalledWalk('a page claims that there is more and names no new cursor');
  }
  return { ...gap, top: earlier(gap.top, oldest(page.items)), cursor: page.nextCursor };
}

function restart(gap: Gap): Gap {
  if (gap.cursor === null) throw new StalledWalk('the service refused to give the newest page');
  return { ...gap, top: null, cursor: null, restarts: gap.restarts + 1 };
}

/** A walk that closed at once has seen everything between its page and the walk before it. */
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

// Every item is looked at, since a page may hold items that are slightly out of order.
function newest(items: readonly { createdAt: number }[]): number | null {
  return items.reduce<number | null>((found, item) => later(found, item.createdAt), null);
}

function oldest(items: readonly { createdAt: number }[]): number | null {
  return items.reduce<number | null>((found, item) => earlier(found, item.createdAt), null);
}

function later(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.max(a, b);
}

function earlier(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}
