import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { judgeByAxe, moveTo, openPage } from '../../../test/support/chromium.ts';
import { startTestLoop, type TestLoop } from '../../../test/support/loop.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { startProductionConsole } from '../../../test/support/production-console.ts';
import { comparePicture, followRequests } from './compare-picture.ts';
import { LAYOUT_FACTS } from './layout-facts.ts';
import { shownInProduction, shownInSandbox, tellStory } from './tell-story.ts';

const clock = new ManualClock();
let test: TestLoop;
let story: Awaited<ReturnType<typeof tellStory>>;

/** Lets three seconds pass, each once all that is due has ended. The attempts of a lost webhook wait for the time. */
async function pass(): Promise<void> {
  for (const made of [1, 2, 3]) {
    const ended = async (): Promise<'lost' | 'settled' | undefined> => {
      const [last] = await test.client.deliveries();
      if (last?.outcome !== 'pending') return 'settled';
      return last.attempts.length === made ? 'lost' : undefined;
    };
    if ((await vi.waitUntil(ended, { timeout: 30_000 })) === 'settled') await test.loop.settle();
    await clock.advance(1_000);
  }
  await test.loop.settle();
}

beforeAll(async () => {
  test = await startTestLoop({ clock });
  const queue = (body: object) => test.connector('POST', '/v1/messages', body);
  story = await tellStory(test.client, test.sandbox, queue, pass);
});

afterAll(async () => {
  let isOpen = true;
  const closed = test?.close().finally(() => {
    isOpen = false;
  });
  // Its servers leave their connections some time to end.
  const end = async (): Promise<boolean> => {
    await clock.advance(100);
    return !isOpen;
  };
  await vi.waitUntil(end, { timeout: 60_000 });
  await closed;
});

/** Opens a page that reads the time of the loop. */
async function openAt(url: string): Promise<Page> {
  const { page } = await openPage('about:blank', { viewport: { width: 1_440, height: 900 } });
  followRequests(page);
  await page.clock.setFixedTime(clock.now());
  await page.goto(url);
  return page;
}

/** The texts of the page as it is that are too faint, in the dark. */
async function faintInTheDark(page: Page): Promise<readonly string[]> {
  const found = await judgeByAxe(page, [{ colorScheme: 'dark', rules: ['color-contrast'] }]);
  return found.flatMap(({ violations }) => violations);
}

const layout = (page: Page) => page.evaluate<readonly string[]>(LAYOUT_FACTS);

/** Opens each screen, and returns what is wrong there. */
async function judgeEach(
  page: Page,
  screens: ReturnType<typeof shownInSandbox>,
  environment: 'sandbox' | 'production',
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const [path, text] of screens) {
    await moveTo(page, path);
    for (const width of [1_440, 1_024, 390]) {
      await page.setViewportSize({ width, height: 900 });
      for (const shown of [page.getByText(text), page.locator('h1')])
        await shown.filter({ visible: true }).first().waitFor();
      const facts = [...(await layout(page))];
      if (width === 1_440) {
        const [, screen, one] = path.replace(/\?.*/, '').split('/');
        const name = `${environment}-${screen}${one === undefined ? '' : '-one'}`;
        facts.push(...(await faintInTheDark(page)), ...(await comparePicture(page, name)));
      }
      found.push(...facts.map((fact) => `${path} at ${width}: ${fact}`));
    }
  }
  return found;
}

describe('no text of a screen is cut, overlaps another one or is too faint in the dark, none leaves the window at 1440, 1024 and 390 pixels, and it looks like its picture', () => {
  it('in the sandbox', async () => {
    const page = await openAt(`${test.loop.info().sandboxUrl}/overview`);
    expect(await judgeEach(page, shownInSandbox(story), 'sandbox')).toEqual([]);
  });

  it('beside a connector in production', async () => {
    const host = await startProductionConsole({ url: test.connectorUrl, token: test.connectorToken });
    const page = await openAt(host.issueUrl());
    expect(await judgeEach(page, shownInProduction(story), 'production')).toEqual([]);
  });
});

describe('it is found', () => {
  let page: Page;

  beforeEach(async () => {
    page = await openAt(`${test.loop.info().sandboxUrl}/journey`);
    await page.getByText('Half past seven').first().waitFor();
  });

  it.each([
    ['.page-head p', { marginTop: '-14px' }, /h1 .* overlaps/],
    ['.find .cut', { textOverflow: 'clip', width: '40px' }, /is cut by/],
    ['.page-head p', { paddingLeft: '1400px' }, /ends beyond the window|the page is/],
  ])('if %s has %o', async (selector, style, fact) => {
    expect(await layout(page)).toEqual([]);
    await page
      .locator(selector)
      .evaluate((element, style) => void Object.assign(element.style, style), style);
    expect(String(await layout(page))).toMatch(fact);
  });

  it('if a text is too faint in the dark', async () => {
    await page.locator('h1').evaluate((element) => element.style.setProperty('color', '#333'));
    expect(await faintInTheDark(page)).toEqual([expect.stringMatching(/^color-contrast: <h1/)]);
  });
});
