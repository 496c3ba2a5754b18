import { describe, it } from 'vitest';
import { expectAccessible, moveTo, openPage } from '../../../test/support/chromium.ts';
import { loopOfFile } from '../../../test/support/loop-of-file.ts';

const test = loopOfFile();
const url = (path: string): string => `${test.loop.info().sandboxUrl}${path}`;

describe('Deliveries', () => {
  it('is accessible', async () => {
    await test.client.write(await test.client.qrConnection(), 'Hello');
    const { page } = await openPage(url('/deliveries'));
    const row = page.getByRole('link', { name: /message\.received/ }).first();
    await row.waitFor();
    await expectAccessible(page);
    await row.click();
    await page.getByRole('heading', { name: 'message.received' }).waitFor();
    await expectAccessible(page);
    await moveTo(page, '/deliveries?q=type:message.received');
    await page
      .getByRole('button', { name: /^Resend all/ })
      .first()
      .click();
    await page.getByText(/again, the same bytes, oldest first/).waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'Webhook and tunnels' }).click();
    await page.getByRole('button', { name: /Close the tunnel of connector/ }).waitFor();
    await expectAccessible(page);
  });
});
