import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchChromium, openPage } from '../support/chromium.ts';
import { startTestService, type TestService } from '../support/service.ts';

const NAME = 'messaging-service';

describe('the console over plain HTTP, under a network host name', () => {
  let test: TestService;
  let browser: Awaited<ReturnType<typeof launchChromium>>;
  beforeAll(async () => {
    [test, browser] = await Promise.all([
      startTestService({ host: '0.0.0.0', allowedHosts: [NAME] }),
      launchChromium([`--host-resolver-rules=MAP ${NAME} 127.0.0.1`]),
    ]);
  });
  afterAll(async () => {
    await browser.close();
    await test.close();
  });

  it('is live, creates and copies, although the browser lacks locks, random UUIDs and the clipboard there', async () => {
    const { sandboxUrl } = test.info;
    expect(new URL(sandboxUrl).hostname).toBe(NAME);
    const { page, complaints } = await openPage(`${sandboxUrl}/connections`, { browser });
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

    await page.goto(`${sandboxUrl}/overview`);
    await page.getByRole('button', { name: 'Copy' }).first().click();
    await page.getByText('Copied with its secrets').waitFor();
    // The browser logs that this header has no effect here.
    expect(
      complaints.filter((text) => !text.startsWith('The Cross-Origin-Opener-Policy header has been ignored')),
    ).toEqual([]);
  });
});
