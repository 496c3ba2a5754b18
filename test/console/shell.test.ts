import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { openPage } from '../support/chromium.ts';
import { loopOfFile } from '../support/loop-of-file.ts';

/** How long after its start the page loads its other parts, in `main.tsx`. */
const PRELOAD_AFTER_MS = 500;

const test = loopOfFile();
const url = (path: string): string => `${test.loop.info().sandboxUrl}${path}`;

async function press(page: Page, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key);
}

async function openLive(path: string): Promise<Page> {
  const { page } = await openPage(url(path));
  await page.getByText('live', { exact: true }).waitFor();
  return page;
}

describe('the shell', () => {
  it('names the screen in the title, and the number of what needs attention', async () => {
    const page = await openLive('/calls');
    await expect.poll(() => page.title()).toBe('Calls · Local sandbox');
    await test.client.dropWebhooks();
    await expect.poll(() => page.title()).toBe('(1) Calls · Local sandbox');
    await test.client.clearFaults();
    await expect.poll(() => page.title()).toBe('Calls · Local sandbox');
  });

  it('moves the focus to the heading of the screen that was chosen with g and a letter', async () => {
    const page = await openLive('/overview');
    for (const [key, name] of [
      ['s', 'Sync'],
      ['d', 'Deliveries'],
      ['i', 'Inbox'],
    ] as const) {
      await press(page, 'g', key);
      await page.waitForURL(`**/${name.toLowerCase()}`);
      const focused = page.getByRole('heading', { level: 1, name }).and(page.locator(':focus'));
      await focused.waitFor();
    }
  });

  it('announces what needs attention politely, and not the time of each reading', async () => {
    const page = await openLive('/overview');
    const live = page.getByRole('region', { name: 'Needs attention' }).locator('[aria-live="polite"]');
    await live.getByText('Nothing. Every number works').waitFor();
    expect(await live.getByText(/as of/).count()).toBe(0);
  });

  it('remembers that letter keys are switched off', async () => {
    const page = await openLive('/overview');
    await press(page, '?');
    await page.getByRole('checkbox', { name: 'Letters and signs are keys of the page' }).uncheck();
    await press(page, 'Escape');
    for (const load of [() => Promise.resolve(), () => page.reload()]) {
      await load();
      await page.getByText('live', { exact: true }).waitFor();
      await press(page, 'g', 's', '?', 't');
      expect(new URL(page.url()).pathname).toBe('/overview');
      expect(await page.getByRole('dialog').count()).toBe(0);
      expect(await page.locator('.dock .pane').count()).toBe(0);
    }
    await page.getByRole('button', { name: 'Keys' }).click();
    await page.getByRole('checkbox', { name: 'Letters and signs are keys of the page' }).check();
    await press(page, 'Escape', 'g', 's');
    await page.waitForURL('**/sync');
  });

  it('says in place of a screen that it cannot be loaded, which the server then loads', async () => {
    const { page } = await openPage('about:blank');
    // Nothing is loaded ahead.
    await page.addInitScript(`const later = setTimeout;
      setTimeout = (run, ms, ...rest) => (ms === ${PRELOAD_AFTER_MS} ? 0 : later(run, ms, ...rest));`);
    let isDown = false;
    await page.route('**/*', (route) => (isDown ? route.abort() : route.continue()));
    await page.goto(url('/overview'));
    await page.getByText('live', { exact: true }).waitFor();
    isDown = true;
    await press(page, 'g', 'c');
    const failed = page.getByRole('heading', { name: 'This part of the page cannot be loaded' });
    await failed.waitFor();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'The server does not respond' }).waitFor();
    await failed.waitFor();
    expect(page.url()).toBe(url('/calls'));
    isDown = false;
    await page.getByRole('region', { name: 'Calls' }).waitFor();
    await page.getByText('live', { exact: true }).waitFor();
  });

  it('says that a conversation or an address does not exist', async () => {
    const page = await openLive('/inbox/nope');
    await page.getByRole('heading', { name: 'There is no such conversation' }).waitFor();
    expect(await page.getByRole('textbox', { name: /^Answer/ }).count()).toBe(0);
    const answer = await page.goto(url('/nope'));
    expect(answer?.status()).toBe(404);
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
  });
});

describe('a number that was just paired', () => {
  it('is in the inbox by its number with its first message, without waiting for a poll', async () => {
    const page = await openLive('/inbox');
    const { connection } = await test.service<{ connection: { id: string } }>('POST', '/connections', {});
    const shown = await test.service<{ connection: { qr: string } }>('GET', `/connections/${connection.id}`);
    const phoneNumber = '447700900171';
    await test.sandbox('POST', `/connections/${connection.id}/scan`, {
      qr: shown.connection.qr,
      phoneNumber,
    });
    await test.client.write(connection.id, 'To a new number');
    await page.getByRole('link', { name: /447700900171.*To a new number/ }).waitFor();
    expect(await page.getByText(connection.id).count()).toBe(0);
  });
});
