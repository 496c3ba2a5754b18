import type { Page } from 'playwright-core';
import { describe, it } from 'vitest';
import { expectAccessible, openPage } from '../../../test/support/chromium.ts';
import { loopOfFile } from '../../../test/support/loop-of-file.ts';

const test = loopOfFile();
const url = (path: string): string => `${test.loop.info().sandboxUrl}${path}`;
const attention = (page: Page) => page.getByRole('region', { name: 'Needs attention' });

describe('Overview', () => {
  it('is accessible, with and without concerns', async () => {
    const { page } = await openPage(url('/overview'));
    await page.getByText('Nothing. Every number works').waitFor();
    await page.getByText('SERVICE_API_KEY=').waitFor();
    await expectAccessible(page);
    await test.client.dropWebhooks();
    await attention(page).getByText('1 fault rule armed').waitFor();
    await expectAccessible(page);
    await test.client.clearFaults();
  });
});
