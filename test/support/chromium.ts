import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import chromium from '@sparticuz/chromium';
import { type Browser, type Page, chromium as playwright } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';

/** Arguments that make the browser weaker than real ones, less stable, or slow to open a page. */
const UNWANTED = [
  '--single-process',
  '--disable-web-security',
  '--disable-site-isolation-trials',
  '--no-zygote',
];

/**
 * Unpacks Chromium once for all processes of a run: next to the place where they look for it, because starting
 * a file that another process still writes fails.
 */
async function unpackChromium(): Promise<string> {
  chromium.setGraphicsMode = false;
  const shared = join(tmpdir(), 'chromium-of-tests');
  if (existsSync(shared)) return join(shared, 'chromium');
  const own = mkdtempSync(join(tmpdir(), 'chromium-'));
  const { TMPDIR } = process.env;
  process.env['TMPDIR'] = own;
  try {
    await chromium.executablePath();
    renameSync(own, shared);
  } catch (error) {
    rmSync(own, { recursive: true });
    if (!existsSync(shared)) throw error;
  } finally {
    if (TMPDIR === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = TMPDIR;
  }
  return join(shared, 'chromium');
}

/** Starts the Chromium that npm installed, headless. `args` are further command-line arguments. */
export async function launchChromium(args: readonly string[] = []): Promise<Browser> {
  return playwright.launch({
    executablePath: await unpackChromium(),
    args: [...chromium.args.filter((arg) => !UNWANTED.includes(arg)), ...args],
    headless: true,
  });
}

/** A name in a network that leads the browser of all tests to this machine. Over HTTP, it is no secure context. */
export const NETWORK_NAME = 'messaging-service';

let shared: Promise<Browser> | undefined;

/** The browser of all tests of this process, which ends with it. */
function sharedBrowser(): Promise<Browser> {
  shared ??= launchChromium([`--host-resolver-rules=MAP ${NETWORK_NAME} 127.0.0.1`]);
  return shared;
}

/** A page, and the complaints of the browser: errors, and everything that a policy blocked. */
export interface WatchedPage {
  readonly page: Page;
  readonly complaints: readonly string[];
}

const VIEWPORT = { width: 1280, height: 800 };

type PageOptions = NonNullable<Parameters<Browser['newContext']>[0]>;

async function newPage(browser: Browser, options: PageOptions): Promise<Page> {
  const context = await browser.newContext({ viewport: VIEWPORT, reducedMotion: 'reduce', ...options });
  return context.newPage();
}

/** The pages of ended tests. The next test uses them: a new page costs twice as much as one that shows another address. */
const spare: Page[] = [];

/** Removes what a test may have left in a page and its context, so that the next one finds it like a new one. */
async function cleanUp(page: Page): Promise<void> {
  const context = page.context();
  if (page.isClosed()) return context.close();
  await Promise.all(context.pages().map((each) => (each === page ? undefined : each.close())));
  page.removeAllListeners();
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  const { origin } = new URL(page.url());
  // An empty page of the same address stays in the process that showed the last one. Another address starts a process.
  await page.route('**', (route) => route.fulfill({ contentType: 'text/plain', body: '' }));
  await page.goto(origin === 'null' ? 'about:blank' : origin);
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  const session = await context.newCDPSession(page);
  await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' });
  await session.send('Page.resetNavigationHistory');
  await session.detach();
  await context.clearPermissions();
  await page.emulateMedia({ colorScheme: null });
  await page.setViewportSize(VIEWPORT);
  spare.push(page);
}

/** Collects from now on what the browser says against the page. */
export function watchPage(page: Page): readonly string[] {
  const complaints: string[] = [];
  page.on('pageerror', ({ message }) => complaints.push(message));
  page.on('console', (message) => {
    if (message.type() === 'error' || /Content Security Policy|Trusted Type/i.test(message.text()))
      complaints.push(message.text());
  });
  return complaints;
}

/**
 * Opens a page of 1280 × 800 by default, in a browser context that no other page uses. Without `browser`, it ends with
 * the test.
 */
export async function openPage(
  url: string,
  { browser, ...options }: PageOptions & { browser?: Browser } = {},
): Promise<WatchedPage> {
  const isPlain = browser === undefined && Object.keys(options).length === 0;
  const page =
    (isPlain ? spare.pop() : undefined) ?? (await newPage(browser ?? (await sharedBrowser()), options));
  if (isPlain) onTestFinished(() => cleanUp(page));
  else if (browser === undefined) onTestFinished(() => page.context().close());
  const complaints = watchPage(page);
  await page.goto(url);
  return { page, complaints };
}

/**
 * Shows another address of the open page, as its links do. The page reads it, but is not loaded again, which costs twice
 * as much.
 */
export async function moveTo(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)})`);
}

const require = createRequire(import.meta.url);
/** The smallest of the files of axe: each page reads it again. */
const axe = (): string => readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

interface View {
  readonly colorScheme: 'light' | 'dark';
  /** Default: that of the page. */
  readonly width?: number;
  /** Default: all rules of axe. */
  readonly rules?: readonly string[];
}

/** Views in which every screen is checked; one thing changes between them. In dark mode only the colors differ. */
const VIEWS: readonly (View & { readonly width: number })[] = [
  { colorScheme: 'light', width: 1280 },
  { colorScheme: 'dark', width: 1280, rules: ['color-contrast'] },
  { colorScheme: 'dark', width: 360, rules: ['color-contrast'] },
  { colorScheme: 'light', width: 360 },
];

interface Judgement {
  /** How wide the page is. */
  readonly width: number;
  /** What is serious or critical. */
  readonly violations: readonly string[];
}

/** What axe finds in views of the page as it is. The page has its size and its colors again afterwards. */
export async function judgeByAxe(page: Page, views: readonly View[]): Promise<readonly Judgement[]> {
  const before = page.viewportSize();
  // Injected by the protocol of the browser, which the page's policy does not affect.
  const session = await page.context().newCDPSession(page);
  const evaluate = async (expression: string): Promise<unknown> => {
    const { result } = await session.send('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    });
    return result.value;
  };
  if ((await evaluate('typeof axe')) === 'undefined') await evaluate(axe());
  const found: Judgement[] = [];
  for (const { colorScheme, width, rules } of views) {
    if (width !== undefined) await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme });
    const options = { resultTypes: ['violations'], ...(rules === undefined ? {} : { runOnly: rules }) };
    const judged =
      await evaluate(`new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))
      .then(() => axe.run(document, ${JSON.stringify(options)}))
      .then(({ violations }) => JSON.stringify({
        width: document.documentElement.scrollWidth,
        violations: violations
          .filter(({ impact }) => impact === 'serious' || impact === 'critical')
          .map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 160)).join(' | ')),
      }))`);
    found.push(JSON.parse(String(judged)) as Judgement);
  }
  await session.detach();
  await page.emulateMedia({ colorScheme: null });
  if (before !== null) await page.setViewportSize(before);
  return found;
}

/**
 * Expects that axe finds nothing serious or critical on the page as it is, light and dark, at 1280 and 360 px, and that
 * nothing makes it wider than the window.
 */
export async function expectAccessible(page: Page): Promise<void> {
  const found = await judgeByAxe(page, VIEWS);
  const shown = VIEWS.map(({ colorScheme }, index) => ({ colorScheme, ...found[index] }));
  expect(shown).toEqual(VIEWS.map(({ colorScheme, width }) => ({ colorScheme, width, violations: [] })));
}
