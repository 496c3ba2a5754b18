import { createServer } from 'node:http';
import type { Browser, Page } from 'playwright-core';
import { launchChromium, openPage } from '../../test/support/chromium.ts';
import type { BenchContext } from '../context.ts';
import type { Child } from '../process/child.ts';
import { listenOnFreePort } from '../process/listen.ts';
import { describeMismatches, type RowCheck } from '../report/row-check.ts';
import type { ConsoleLoop } from './console-loop.ts';

export interface ConsoleResult {
  readonly deliveries: number;
  /** Of each round, in milliseconds. */
  readonly firstPaintMs: { readonly ours: readonly number[]; readonly bare: readonly number[] };
  /** Of each round: the longest task of the page while it was scrolled, in milliseconds; 0 if none took 50. */
  readonly longestTaskMs: readonly number[];
  /** Rows that the page held at most. */
  readonly rowsHeld: number;
  /** Bytes that the page held after each quarter of the live traffic. */
  readonly heap: readonly number[];
  readonly rows: readonly RowCheck[];
  readonly broken: readonly string[];
}

/** Rows that the page may hold. */
const MOST_ROWS = 5_000;
/** Where scrolling ends: beyond what the page may hold, or a page that holds too much would go unnoticed. */
const SCROLL_TO_ROWS = MOST_ROWS + 1_000;
const QUARTERS = 4;
const WHEEL_PX = 2_400;

/** Opens the page beside many deliveries, scrolls through them, and lets as many again arrive while it is open. */
export async function measureConsole(context: BenchContext): Promise<ConsoleResult> {
  const { args, postgres, progress } = context;
  const loop = context.start<ConsoleLoop>(new URL('console-loop.ts', import.meta.url));
  const browser = await launchChromium();
  try {
    const { url } = await loop.ask('start', { databaseUrl: await postgres.createDatabase('console') });
    const rows: RowCheck[] = [await write(loop, 'deliveries stored', args.deliveries, progress)];
    progress('first paint');
    const firstPaintMs = await paintInTurn(browser, `${url}/deliveries`, args.rounds);
    const { page, complaints } = await openPage(`${url}/deliveries`, { browser });
    await page
      .getByRole('link', { name: /message\.received/ })
      .first()
      .waitFor();
    const longestTaskMs: number[] = [];
    let rowsHeld = 0;
    for (let round = 0; round < args.rounds; round += 1) {
      progress(`scrolling, round ${round + 1}`);
      const scrolled = await scrollThrough(page, Math.min(args.deliveries, SCROLL_TO_ROWS));
      longestTaskMs.push(scrolled.longestTaskMs);
      rowsHeld = Math.max(rowsHeld, scrolled.rowsHeld);
      await page.keyboard.press('n');
    }
    const heap: number[] = [];
    for (let quarter = 0; quarter < QUARTERS; quarter += 1) {
      rows.push(
        await write(
          loop,
          `delivered, quarter ${quarter + 1}`,
          Math.ceil(args.deliveries / QUARTERS),
          progress,
        ),
      );
      await page.getByText('live', { exact: true }).waitFor();
      heap.push(await heapOf(page));
    }
    return {
      deliveries: args.deliveries,
      firstPaintMs,
      longestTaskMs,
      rowsHeld,
      heap,
      rows,
      broken: [
        ...describeMismatches(rows),
        ...complaints,
        ...(rowsHeld > MOST_ROWS ? [`the page holds ${rowsHeld} rows, more than ${MOST_ROWS}`] : []),
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
  progress(`${what}: ${messages} messages`);
  const { written, refusals } = await loop.ask('write', { messages });
  for (const refusal of refusals) progress(`refused: ${refusal}`);
  return { what, expected: messages, found: written };
}

/** The page and a document of one line, each with an empty cache, in turn. */
async function paintInTurn(
  browser: Browser,
  url: string,
  rounds: number,
): Promise<ConsoleResult['firstPaintMs']> {
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
const LAST_ROW = `Math.max(...[...document.querySelectorAll('[data-index]')].map((row) => Number(row.dataset.index)))`;
const NEXT_FRAME = 'new Promise((resolve) => requestAnimationFrame(() => resolve()))';

/** Scrolls down to so many rows, reading page after page, and up again. */
async function scrollThrough(
  page: Page,
  rows: number,
): Promise<{ readonly longestTaskMs: number; readonly rowsHeld: number }> {
  await page.evaluate(WATCH_TASKS);
  await page.mouse.move(500, 400);
  const held = async (): Promise<number> => 1 + (await page.evaluate<number>(LAST_ROW));
  let rowsHeld = await held();
  for (let stuck = 0; rowsHeld < rows && stuck < 200; ) {
    await page.mouse.wheel(0, WHEEL_PX);
    await page.evaluate(NEXT_FRAME);
    const now = await held();
    stuck = now > rowsHeld ? 0 : stuck + 1;
    rowsHeld = Math.max(rowsHeld, now);
  }
  for (let wheel = 0; wheel < 40; wheel += 1) await page.mouse.wheel(0, -WHEEL_PX);
  return { longestTaskMs: await page.evaluate<number>('longestTask'), rowsHeld };
}

/** What the page's own code holds once everything unused is gone, in bytes. */
async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize;
}
