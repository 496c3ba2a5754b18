import { describe, expect, it } from 'vitest';
import { NETWORK_NAME, openPage } from '../../../test/support/chromium.ts';
import { ofFile } from '../../../test/support/of-file.ts';
import { startTestService } from '../../../test/support/service.ts';

describe('the console over plain HTTP, under a network host name', () => {
  const test = ofFile(() => startTestService({ host: '0.0.0.0', allowedHosts: [NETWORK_NAME] }));

  it('is live, creates and copies, although the browser lacks locks, random UUIDs and the clipboard there', async () => {
    const { sandboxUrl } = test.info;
    expect(new URL(sandboxUrl).hostname).toBe(NETWORK_NAME);
    const { page, complaints } = await openPage(`${sandboxUrl}/connections`);
    expect(await page.evaluate('[window.isSecureContext, navigator.locks, navigator.clipboard]')).toEqual([
      false,
      undefined,
      undefined,
    ]);
    const second = await page.context().newPage();
    await second.goto(`${sandboxUrl}/connections`);
    await page.getByRole('button', { name: 'New connection' }).click();
    await page.getByRole('textbox', { name: 'Label' }).fill('Under a name');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'Under a name' }).waitFor();
    await second.getByRole('link', { name: 'Under a name' }).waitFor();

    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('button', { name: 'Copy' }).first().click();
    await page.getByText('Copied with its secrets').waitFor();
    // The browser logs that this header has no effect here.
    expect(
      complaints.filter((text) => !text.startsWith('The Cross-Origin-Opener-Policy header has been ignored')),
    ).toEqual([]);
  });
});
