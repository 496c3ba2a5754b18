import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { expectAccessible, openPage } from '../support/chromium.ts';
import { KEYBOARD } from '../support/keyboard.ts';
import { loopOfFile } from '../support/loop-of-file.ts';

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

  it('is the start screen: first steps tick off, lead to what they made, and stay until they are hidden', async () => {
    await test.sandbox('POST', '/reset');
    const check = await test.loop.check();
    expect(check).toMatchObject({ webhookMs: expect.any(Number) });
    const { page, complaints } = await openPage(url('/'));
    await page.waitForURL('**/overview');
    const steps = page.getByRole('region', { name: 'First steps' });
    await steps.getByText('0 of 3 done').waitFor();
    // The self-check has lost a webhook on purpose.
    await page.getByRole('link', { name: '0 dropped' }).waitFor();
    await page.getByRole('button', { name: 'Say hello' }).click();
    await steps.getByText('1 of 3 done').waitFor();
    await page.getByRole('link', { name: '1 delivered' }).click();
    await page.waitForURL('**/deliveries?q=status%3Adelivered*');
    await page.getByRole('link', { name: /delivered message\.received/ }).waitFor();
    expect(await page.getByRole('link', { name: /delivered/ }).count()).toBe(1);
    await page.goBack();
    await steps.getByRole('link', { name: 'Journey' }).click();
    await page.getByText('A webhook reported it first.').waitFor();
    await page.goBack();
    await steps.getByRole('link', { name: 'Delivery' }).click();
    await page.getByRole('heading', { name: 'message.received' }).waitFor();
    await page.goBack();
    await steps.getByRole('link', { name: 'Inbox' }).click();
    await KEYBOARD.write(page.getByRole('textbox', { name: /^Answer/ }), 'Good morning');
    await KEYBOARD.press(page.getByRole('button', { name: 'Send' }));
    await page.getByRole('log').getByText('Good morning').waitFor();
    await page.goBack();
    await steps.getByText('2 of 3 done').waitFor();
    await steps.getByRole('button', { name: 'Hide' }).click();
    await steps.waitFor({ state: 'detached' });
    await page.reload();
    await page.getByRole('link', { name: /^\d+ delivered$/ }).waitFor();
    expect(await steps.count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  it('copies the .env with its secrets, which the page never shows', async () => {
    const { page } = await openPage(url('/overview'));
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByText('SERVICE_API_KEY=••••••••').waitFor();
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByText('Copied with its secrets').waitFor();
    const { baseUrl, apiKey, connectorUrl, connectorToken } = test.loop.info();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
      `SERVICE_BASE_URL=${baseUrl}\nSERVICE_API_KEY=${apiKey}\nCONNECTOR_URL=${connectorUrl}\nCONNECTOR_API_TOKEN=${connectorToken}\n`,
    );
    const shown = await page.content();
    expect(shown).toContain(baseUrl);
    expect([shown.includes(apiKey), shown.includes(String(connectorToken))]).toEqual([false, false]);
  });

  it('shows live what needs attention, and leads there by keyboard alone', async () => {
    const { page, complaints } = await openPage(url('/overview'));
    await attention(page).getByText('Nothing. Every number works').waitFor();
    const { entries } = await test.sandbox<{ entries: { id: string }[] }>('GET', '/connections?limit=1');
    onTestFinished(() => test.sandbox('POST', '/reset'));
    await test.sandbox('POST', `/connections/${entries[0]?.id}/outage`, { cause: 'phone_off' });
    await attention(page).getByText('1 number broken, which the service has not found yet').waitFor();
    await test.client.dropWebhooks();
    await attention(page).getByText('lost (0 hits)').waitFor();

    await KEYBOARD.press(attention(page).getByRole('button', { name: 'Remove all' }));
    await attention(page).getByText('1 fault rule armed').waitFor({ state: 'detached' });
    await page.keyboard.press('g');
    await page.keyboard.press('o');
    await KEYBOARD.press(attention(page).getByRole('link', { name: '1 number broken' }));
    await page.waitForURL('**/connections?q=*');
    await page.getByRole('link', { name: /broken.*Front desk/ }).waitFor();
    expect(complaints).toEqual([]);
  });
});
