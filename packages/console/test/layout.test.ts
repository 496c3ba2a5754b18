import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { judgeByAxe, moveTo, openPage } from '../../../test/support/chromium.ts';
import { loopOfFile } from '../../../test/support/loop-of-file.ts';
import { startProductionConsole } from '../../../test/support/production-console.ts';
import { LAYOUT_FACTS } from './layout-facts.ts';
import { shownInProduction, shownInSandbox, tellStory } from './tell-story.ts';

const test = loopOfFile();
let story: Awaited<ReturnType<typeof tellStory>>;

beforeAll(async () => {
  story = await tellStory(test.client, test.sandbox, (body) => test.connector('POST', '/v1/messages', body));
});

type Screens = ReturnType<typeof shownInSandbox>;

/** Opens each screen, and returns what is wrong there. */
async function judgeEach(
  page: Page,
  screens: Screens,
  judge: () => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const [path, text] of screens) {
    await moveTo(page, path);
    for (const shown of [page.getByText(text), page.locator('h1')])
      await shown.filter({ visible: true }).first().waitFor();
    found.push(...(await judge()).map((fact) => `${path}: ${fact}`));
  }
  return found;
}

/** What is wrong with the layout of screens in each width. */
async function judge(page: Page, screens: Screens): Promise<readonly string[]> {
  const found: string[] = [];
  for (const width of [1_440, 1_024, 390]) {
    await page.setViewportSize({ width, height: 900 });
    const facts = await judgeEach(page, screens, () => page.evaluate<readonly string[]>(LAYOUT_FACTS));
    found.push(...facts.map((fact) => `at ${width}, ${fact}`));
  }
  return found;
}

/** The texts of the page as it is that are too faint, in the dark. */
async function faintInTheDark(page: Page): Promise<readonly string[]> {
  const found = await judgeByAxe(page, [{ colorScheme: 'dark', rules: ['color-contrast'] }]);
  return found.flatMap(({ violations }) => violations);
}

describe('no text is cut or overlaps another one, and none leaves the window, at 1440, 1024 and 390 pixels', () => {
  it('on each screen of the sandbox', async () => {
    const { page } = await openPage(`${test.loop.info().sandboxUrl}/overview`);
    expect(await judge(page, shownInSandbox(story))).toEqual([]);
  });

  it('on each screen beside a connector in production', async () => {
    const host = await startProductionConsole({ url: test.connectorUrl, token: test.connectorToken });
    const { page } = await host.open('/overview');
    expect(await judge(page, shownInProduction(story))).toEqual([]);
  });

  it.each([
    ['.page-head p', { marginTop: '-14px' }, /h1 .* overlaps/],
    ['.find .cut', { textOverflow: 'clip', width: '40px' }, /is cut by/],
    ['.page-head p', { paddingLeft: '1400px' }, /ends beyond the window|the page is/],
  ])('is found to be so if %s has %o', async (selector, style, fact) => {
    const { page } = await openPage(`${test.loop.info().sandboxUrl}/journey`);
    await page.getByText('Half past seven').first().waitFor();
    expect(await page.evaluate(LAYOUT_FACTS)).toEqual([]);
    await page
      .locator(selector)
      .evaluate((element, style) => void Object.assign(element.style, style), style);
    expect(String(await page.evaluate(LAYOUT_FACTS))).toMatch(fact);
  });
});

describe('every text can be read in the dark', () => {
  it('on each screen of the sandbox', async () => {
    const { page } = await openPage(`${test.loop.info().sandboxUrl}/overview`);
    expect(await judgeEach(page, shownInSandbox(story), () => faintInTheDark(page))).toEqual([]);
  });

  it('on each screen beside a connector in production', async () => {
    const host = await startProductionConsole({ url: test.connectorUrl, token: test.connectorToken });
    const { page } = await host.open('/overview');
    expect(await judgeEach(page, shownInProduction(story), () => faintInTheDark(page))).toEqual([]);
  });

  it('and is found if it cannot', async () => {
    const { page } = await openPage(`${test.loop.info().sandboxUrl}/journey`);
    await page.getByText('Half past seven').first().waitFor();
    await page.locator('h1').evaluate((element) => element.style.setProperty('color', '#333'));
    expect(await faintInTheDark(page)).toEqual([expect.stringMatching(/^color-contrast: <h1/)]);
  });
});
