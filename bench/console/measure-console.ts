import { createServer } from 'node:http';
import type { Browser, Page } from 'playwright-core';
import { launchChromium, openPage } from '../../test/support/chromium.ts';
import type { BenchContext } from '../context.ts';
import type { Child } from '../process/child.ts';
import { listenOnFreePort } from '../process/listen.ts';
import { describeMismatches, type RowCheck } from '../report/row-check.ts';
import { ratioOf, spreadOf } from '../report/statistics.ts';
import type { ConsoleLoop } from './console-loop.ts';

const PAINT_MS = 1_000;
/** A page whose tasks stay below this answers keys and the wheel at once. */
const TASK_MS = 50;
/** Events replace rows, so what the page holds stays about the same. */
const GROWTH = 1.25;
/** Rows that the page may hold. */
const MOST_ROWS = 5_000;
/** Where scrolling ends: beyond what the page may hold, or a page that holds too much would go unnoticed. */
const SCROLL_TO_ROWS = MOST_ROWS + 1_000;
const QUARTERS = 4;
/** Messages between two counts of the events that the page has heard. */
const MESSAGES = 100;
const BEGIN = 'scrolling begins';
const WHEEL_PX = 2_400;
const ROW_PX = 34;
/** A page that shows no further row for so many frames has no more. */
const STUCK_FRAMES = 300;

/** Opens the page beside many deliveries, scrolls through them, and lets events arrive while it is open. */
export async function measureConsole(context: BenchContext) {
  const { args, postgres, progress } = context;
  const loop = context.start<ConsoleLoop>(new URL('console-loop.ts', import.meta.url));
  const browser = await launchChromium();
  try {
    const { url } = await loop.ask('start', { databaseUrl: await postgres.createDatabase('console') });
    progress(`storing ${args.deliveries} deliveries`);
    const rows: RowCheck[] = [await write(loop, 'deliveries stored', args.deliveries, progress)];
    progress('first paint');
    const firstPaintMs = await paintInTurn(browser, `${url}/deliveries`, args.rounds);
    const bare = await openScroller(browser);
    const { page, complaints } = await openPage(`${url}/deliveries`, { browser });
    await page
      .getByRole('link', { name: /message\.received/ })
      .first()
      .waitFor();
    const ours: number[] = [];
    const theirs: number[] = [];
    const rowsStored = Math.min(args.deliveries, SCROLL_TO_ROWS);
    const held: number[] = [];
    for (let round = 0; round < args.rounds; round += 1) {
      progress(`scrolling, round ${round + 1}`);
      ours.push(await longestTask(browser, page, () => scrollThrough(page, rowsStored)));
      held.push(await page.evaluate<number>(ROWS_HELD));
      theirs.push(await longestTask(browser, bare, () => scrollThrough(bare, rowsStored)));
      await page.bringToFront();
      await page.keyboard.press('n');
    }
    const heard = await countEvents(page);
    await page.evaluate(WATCH_TASKS);
    const heap: number[] = [];
    for (let quarter = 1; quarter <= QUARTERS; quarter += 1) {
      const until = (args.events * quarter) / QUARTERS;
      progress(`events, quarter ${quarter}`);
      // Each message is several events.
      for (let sent = 0; (await heard()) < until && sent < args.events; sent += MESSAGES)
        rows.push(await write(loop, `messages of quarter ${quarter}`, MESSAGES, progress));
      await page.getByText('live', { exact: true }).waitFor();
      held.push(await page.evaluate<number>(ROWS_HELD));
      heap.push(await heapOf(page));
    }
    const rowsHeld = Math.max(...held);
    const events = await heard();
    const same = (value: number): number[] => ours.map(() => value);
    return {
      report: {
        deliveries: args.deliveries,
        ratios: [
          ratioOf(`first paint / ${PAINT_MS} ms`, { below: 1 }, firstPaintMs.ours, same(PAINT_MS)),
          ratioOf(`longest task / ${TASK_MS} ms`, { below: 1 }, ours, same(TASK_MS)),
          ratioOf('memory at the end / after a quarter', { below: GROWTH }, heap.slice(-1), heap.slice(0, 1)),
        ],
        firstPaintMs: { ours: spreadOf(firstPaintMs.ours), bare: spreadOf(firstPaintMs.bare) },
        longestTaskMs: { ours: spreadOf(ours), bare: spreadOf(theirs) },
        rowsHeld,
        events,
        /** The longest task while events arrived; 0 if none took 50 ms. */
        liveTaskMs: await page.evaluate<number>('longestTask'),
        /** Megabytes after each quarter of the events. */
        heapMb: heap.map((bytes) => bytes / 1_000_000),
      },
      broken: [
        ...describeMismatches(rows),
        ...complaints,
        ...(rowsHeld > MOST_ROWS ? [`the page holds ${rowsHeld} rows, more than ${MOST_ROWS}`] : []),
        ...(rowsHeld < Math.min(args.deliveries, MOST_ROWS) ? [`the page holds only ${rowsHeld} rows`] : []),
        ...(events < args.events ? [`the page heard ${events} events of ${args.events}`] : []),
      ],
    };
  } finally {
    await browser.close();
    await loop.stop();
  }
}

async function write(
  loop: Child<ConsoleLoop>,
  what: string,
  messages: number,
  progress: (line: string) => void,
): Promise<RowCheck> {
  const { written, refusals } = await loop.ask('write', { messages });
  for (const refusal of refusals) progress(`refused: ${refusal}`);
  return { what, expected: messages, found: written };
}

/** The page and a document of one line, each with an empty cache, in turn. */
async function paintInTurn(browser: Browser, url: string, rounds: number) {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end('<!doctype html><html lang="en"><title>Bare</title><h1>Bare</h1>');
  });
  const { port } = await listenOnFreePort(server);
  const ours: number[] = [];
  const bare: number[] = [];
  try {
    // The first one builds the page.
    await firstPaint(browser, url);
    for (let round = 0; round < rounds; round += 1) {
      ours.push(await firstPaint(browser, url));
      bare.push(await firstPaint(browser, `http://127.0.0.1:${port}/`));
    }
  } finally {
    server.close();
  }
  return { ours, bare };
}

async function firstPaint(browser: Browser, url: string): Promise<number> {
  const { page } = await openPage(url, { browser });
  const ms = await page.evaluate<number>(FIRST_PAINT);
  await page.context().close();
  return ms;
}

/** These run in the page, whose types this program does not know. */
const FIRST_PAINT = `new Promise((resolve) => {
  new PerformanceObserver((list) => {
    for (const { name, startTime } of list.getEntries()) if (name === 'first-contentful-paint') resolve(startTime);
  }).observe({ type: 'paint', buffered: true });
})`;
const WATCH_TASKS = `
  globalThis.longestTask = 0;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longestTask = Math.max(longestTask, duration);
  }).observe({ type: 'longtask' });`;
const ROWS_HELD = `Math.round(document.querySelector('.table-body ul').offsetHeight / ${ROW_PX})`;
/** Rows above the lower edge of the list. */
const SCROLLED = `(({ scrollTop, clientHeight }) => Math.round((scrollTop + clientHeight) / ${ROW_PX}))(document.querySelector('.table-body'))`;
const NEXT_FRAME = 'new Promise((resolve) => requestAnimationFrame(() => resolve()))';

/** A page that does nothing but scroll, through as many rows of one colour. */
async function openScroller(browser: Browser): Promise<Page> {
  const { page } = await openPage('about:blank', { browser });
  await page.setContent(
    `<div class="table-body" style="height: 90vh; overflow: auto">
      <ul style="height: ${SCROLL_TO_ROWS * ROW_PX}px; margin: 0"></ul></div>`,
  );
  return page;
}

/** Scrolls down through so many rows, reading page after page, and up again. */
async function scrollThrough(page: Page, rows: number): Promise<void> {
  await page.mouse.move(500, 400);
  const reached = (): Promise<number> => page.evaluate<number>(SCROLLED);
  for (let at = await reached(), stuck = 0; at < rows && stuck < STUCK_FRAMES; ) {
    await page.mouse.wheel(0, WHEEL_PX);
    await page.evaluate(NEXT_FRAME);
    const now = await reached();
    stuck = now > at ? 0 : stuck + 1;
    at = Math.max(at, now);
  }
  for (let wheel = 0; wheel < 40; wheel += 1) await page.mouse.wheel(0, -WHEEL_PX);
}

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly dur?: number;
}

/** The longest task of a page during some work, in milliseconds, from a trace, which also shows the short ones. */
async function longestTask(browser: Browser, page: Page, work: () => Promise<void>): Promise<number> {
  await page.bringToFront();
  await browser.startTracing(page, { categories: ['toplevel', 'blink.user_timing'] });
  await page.evaluate(`performance.mark('${BEGIN}')`);
  await work();
  const trace = JSON.parse(String(await browser.stopTracing())) as { readonly traceEvents: TraceEvent[] };
  const begin = trace.traceEvents.findLast(({ name }) => name === BEGIN);
  if (begin === undefined) throw new Error('the trace has no mark of the page');
  const { pid, tid, ts } = begin;
  return trace.traceEvents
    .filter((each) => each.pid === pid && each.tid === tid && each.ts > ts && each.name.endsWith('RunTask'))
    .reduce((most, { dur = 0 }) => Math.max(most, dur / 1_000), 0);
}

/** Counts the events of the stream from now on: the page passes each on to its other tabs. */
async function countEvents(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(`heardEvents = 0;
    heardChannel = new BroadcastChannel('console-stream');
    heardChannel.onmessage = ({ data }) => { if (data.kind === 'event') heardEvents += 1; };`);
  return () => page.evaluate<number>('heardEvents');
}

/** What the page's own code holds once everything unused is gone, in bytes. */
async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize;
}
