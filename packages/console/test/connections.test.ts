import type { Page } from 'playwright-core';
import { describe, it } from 'vitest';
import { expectAccessible, moveTo, openPage } from '../../../test/support/chromium.ts';
import { loopOfFile } from '../../../test/support/loop-of-file.ts';

const test = loopOfFile();
const url = (path: string): string => `${test.loop.info().sandboxUrl}${path}`;

const row = (page: Page, text: string | RegExp) =>
  page.getByRole('region', { name: 'Connections' }).getByRole('link').filter({ hasText: text });
describe('a connection', () => {
  it('is accessible', async () => {
    const { page } = await openPage(url('/connections?q=nothing'));
    await page.getByText('No connection matches').waitFor();
    await page.getByRole('button', { name: 'New connection' }).click();
    await expectAccessible(page);
    await moveTo(page, '/connections');
    await row(page, 'Front desk').waitFor();
    await expectAccessible(page);
    await row(page, 'Front desk').click();
    await page.getByRole('heading', { name: 'Front desk' }).waitFor();
    await page.getByText('What the states mean').click();
    await expectAccessible(page);
  });
});
