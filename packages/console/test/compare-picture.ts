import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import pixelmatch from 'pixelmatch';
import type { Page, Request } from 'playwright-core';
import { PNG } from 'pngjs';
import { inject, vi } from 'vitest';
import { ROOT } from '../../../test/support/root.ts';

const KEPT = join(import.meta.dirname, 'pictures');
/** Where the pictures of a failed test are. */
const FAILED = join(ROOT, '.data/pictures');

/** How different two pixels must be, from 0 to 1 (black and white). The colours of two surfaces differ by 0.02. */
const THRESHOLD = 0.015;
/** As many pixels may differ: the edges of a letter or two. */
const FEW = 30;

/**
 * Gives the same text in each run to ids, ports, how a message was seen first and how many events and changes there
 * were, and hides whether the page is live: these depend on the speed of the machine. Runs in the browser.
 */
const SAME_IN_EACH_RUN = `(() => {
  document.querySelector('.strip .end').style.visibility = 'hidden';
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
    const same = text.data
      .replaceAll(/\\bc[0-9a-z]{24}\\b/g, 'c123456789012345678901234')
      .replaceAll(/\\bc[0-9a-z]{3}…[0-9a-z]{4}\\b/g, 'c123…1234')
      .replaceAll(/127\\.0\\.0\\.1:\\d+/g, '127.0.0.1:4000')
      .replace(/^Change \\d+/, 'Change 20')
      .replace(/^\\d+ (received|new|changes)$/, '20 $1')
      .replace(/^send$/, 'webhook');
    if (same !== text.data) text.data = same;
  }
})()`;
const HAS_TYPEFACES = `document.fonts.ready.then(() =>
  ['13px Inter', '12px "IBM Plex Mono"'].every((font) => document.fonts.check(font)))`;

/** The requests of a page that have no response yet, without its stream. */
const open = new WeakMap<Page, Set<Request>>();

/** Begins to follow the requests of a page, so that a picture shows what they respond. */
export function followRequests(page: Page): void {
  const requests = new Set<Request>();
  open.set(page, requests);
  page.on('request', (request) => {
    if (!/\/(?:events|stream)$/.test(new URL(request.url()).pathname)) requests.add(request);
  });
  const end = (request: Request) => void requests.delete(request);
  page.on('requestfinished', end);
  page.on('requestfailed', end);
}

/** The window once nothing in it changes any more. While the machine is busy, the page may miss its server. */
async function takePicture(page: Page): Promise<PNG> {
  const isQuiet = async (): Promise<boolean> =>
    open.get(page)?.size === 0 && (await page.getByRole('alert').count()) === 0;
  let last: Buffer | undefined;
  for (;;) {
    await vi.waitUntil(isQuiet, { timeout: 30_000 });
    await page.evaluate(SAME_IN_EACH_RUN);
    const next = await page.screenshot({ animations: 'disabled' });
    if ((await isQuiet()) && last?.equals(next) === true) return PNG.sync.read(next);
    last = next;
  }
}

/** The pixels with 32 levels of each colour, which makes the file a third smaller. */
function coarse({ data }: PNG): Buffer {
  return data.map((level) => level | 7) as Buffer;
}

function write(path: string, { width, height }: PNG, data: Buffer): void {
  mkdirSync(dirname(path), { recursive: true });
  // Of few colours, the plain lines are the smallest.
  writeFileSync(
    path,
    PNG.sync.write(Object.assign(new PNG({ width, height }), { data }), {
      colorType: 2,
      filterType: 0,
      deflateStrategy: 0,
    }),
  );
}

/**
 * How what the window shows differs from the kept picture of this name, in words; empty if it does not. A run that
 * updates snapshots (`-u`) keeps what it shows.
 */
export async function comparePicture(page: Page, name: string): Promise<readonly string[]> {
  if (!(await page.evaluate(HAS_TYPEFACES))) return ['the typefaces of the page are not loaded'];
  const shown = await takePicture(page);
  const { width, height } = shown;
  const actual = coarse(shown);
  const path = join(KEPT, `${name}.png`);
  if (inject('updatesSnapshots')) {
    write(path, shown, actual);
    return [];
  }
  const file = (ending: string) => join(FAILED, `${name}${ending}.png`);
  const kept = existsSync(path) ? PNG.sync.read(readFileSync(path)) : undefined;
  if (kept?.width !== width || kept.height !== height) {
    write(file(''), shown, actual);
    return [`no picture of this size is kept: ${file('')}`];
  }
  const difference = Buffer.alloc(actual.length);
  const pixels = pixelmatch(kept.data, actual, difference, width, height, { threshold: THRESHOLD });
  if (pixels <= FEW) return [];
  write(file(''), shown, actual);
  write(file('-difference'), shown, difference);
  return [`${pixels} pixels differ: ${file('-difference')}`];
}
