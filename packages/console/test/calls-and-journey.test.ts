import { describe, expect, it } from 'vitest';
import { expectAccessible, moveTo, openPage } from '../../../test/support/chromium.ts';
import { callJson } from '../../../test/support/loop-client.ts';
import { loopOfFile } from '../../../test/support/loop-of-file.ts';

const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>';

const test = loopOfFile();
const url = (path: string): string => `${test.loop.info().sandboxUrl}${path}`;

describe('Calls', () => {
  it('shows live which check refused a call, by keyboard alone', async () => {
    const { baseUrl } = test.loop.info();
    const { page, complaints } = await openPage(url('/calls?q=status:4*'));
    await page.getByText('No call matches').waitFor();
    await expect(callJson(`${baseUrl}/account`, { token: 'nonsense' })).rejects.toThrow('answered 401');
    await page.getByRole('link', { name: /401 GET \/account invalid_key none/ }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Refused by the check credential' }).waitFor();
    await page.getByRole('figure', { name: 'Response body' }).getByText('"error": "invalid_key"').waitFor();
    await expectAccessible(page);
    expect(complaints).toEqual([]);

    await page.keyboard.press('g');
    await page.keyboard.press('d');
    await page.waitForURL('**/deliveries');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    expect(await page.getByRole('dialog').count()).toBe(0);
  });
});

describe('Journey', () => {
  it('is accessible', async () => {
    const id = await test.client.write(await test.client.qrConnection(), HOSTILE);
    await test.loop.settle();
    const { page, complaints } = await openPage(url('/journey'));
    await page.getByText(HOSTILE).first().waitFor();
    await expectAccessible(page);
    await moveTo(page, `/journey/${id}`);
    await page.getByText('A webhook reported it first.').waitFor();
    for (const line of await page.locator('.journey-step > summary').all()) await line.click();
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });
});
