import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import chromium from '@sparticuz/chromium';
import axe from 'axe-core';
import { type Browser, type Page, chromium as playwright } from 'playwright-core';
import { expect } from 'vitest';

/** They make the browser weaker than the ones that people use, or less stable. */
const UNWANTED = ['--single-process', '--disable-web-security', '--disable-site-isolation-trials'];

/**
 * Unpacks Chromium once for all processes of a run: beside the place where they look for it, since one that starts
 * what another still writes fails.
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

/** Starts the Chromium that npm installed, without a window. */
export async function launchChromium(): Promise<Browser> {
  return playwright.launch({
    executablePath: await unpackChromium(),
    args: chromium.args.filter((arg) => !UNWANTED.includes(arg)),
    headless: true,
  });
}

/** A page, and what the browser complained of: errors, and everything that a policy blocked. */
export interface WatchedPage {
  readonly page: Page;
  readonly complaints: readonly string[];
}

/** Opens a page of 1280 × 800, unless told otherwise, in a browser context of its own. */
export async function openPage(
  browser: Browser,
  url: string,
  options: NonNullable<Parameters<Browser['newContext']>[0]> = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce',
    ...options,
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', ({ message }) => complaints.push(message));
  page.on('console', (message) => {
    if (message.type() === 'error' || /Content Security Policy|Trusted Type/i.test(message.text()))
      complaints.push(message.text());
  });
  await page.goto(url);
  return { page, complaints };
}

/** Expects that axe finds nothing serious or critical on the page as it is. */
export async function expectAccessible(page: Page): Promise<void> {
  // Into the page by the protocol of the browser, which no policy of the page concerns.
  const session = await page.context().newCDPSession(page);
  const run = `${axe.source}; axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => JSON.stringify(
    violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 160)).join(' | '))))`;
  const { result } = await session.send('Runtime.evaluate', {
    expression: run,
    awaitPromise: true,
    returnByValue: true,
  });
  await session.detach();
  expect(JSON.parse(String(result.value))).toEqual([]);
}
