import { describe, expect, it } from 'vitest';
import { expectAccessible, openPage } from '../support/chromium.ts';
import { callJson } from '../support/loop-client.ts';
import { loopOfFile } from '../support/loop-of-file.ts';

const test = loopOfFile();

describe('Calls', () => {
  it('shows live which check refused a call, by keyboard alone', async () => {
    const { baseUrl, sandboxUrl } = test.loop.info();
    const { page, complaints } = await openPage(`${sandboxUrl}/calls?q=status:4*`);
    await page.getByText('No call matches').waitFor();
    await expect(callJson(`${baseUrl}/account`, { token: 'nonsense' })).rejects.toThrow('answered 401');
    await page.getByRole('link', { name: /401 GET \/account invalid_key none/ }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Refused by the check credential' }).waitFor();
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

  it('keeps a number in the URL as text', async () => {
    const { page, complaints } = await openPage(`${test.loop.info().sandboxUrl}/calls?q=401`);
    await page.getByRole('combobox', { name: 'Filter' }).waitFor({ timeout: 5_000 });
    expect(await page.getByRole('combobox', { name: 'Filter' }).inputValue()).toBe('401');
    expect(complaints).toEqual([]);
  });
});
