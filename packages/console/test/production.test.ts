import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectAccessible, moveTo, type WatchedPage } from '../../../test/support/chromium.ts';
import { KEYBOARD } from '../../../test/support/keyboard.ts';
import { loopOfFile } from '../../../test/support/loop-of-file.ts';
import { startProductionConsole } from '../../../test/support/production-console.ts';

const HOSTILE = '<img src=x onerror="document.title=1">';

let connectionId: string;
/** Whether the handler of the CRM fails. */
let isBroken = true;
const test = loopOfFile({
  handlers: {
    attempts: 1,
    onChange({ type }) {
      if (isBroken && type === 'message.created') throw new RangeError(`no room for ${HOSTILE}`);
    },
  },
});

beforeAll(async () => {
  connectionId = await test.client.qrConnection();
  await test.client.sync();
});

/** Creates a change that the handler cannot process. */
async function setAside(text: string): Promise<string> {
  isBroken = true;
  const id = await test.client.write(connectionId, text);
  await test.loop.settle();
  isBroken = false;
  return id;
}

const connector = () => ({ url: test.connectorUrl, token: test.connectorToken });

/** Opens the console of the connector in a browser that it admits. */
async function openConsole(path: string, write = false): Promise<WatchedPage> {
  const host = await startProductionConsole(connector(), { write });
  return host.open(path);
}

const letters = (page: Page) => page.getByRole('list', { name: 'Dead letters' }).getByRole('listitem');

describe('the console beside a connector', () => {
  it('replays with --write, by keyboard alone, shows new messages live, and answers one', async () => {
    await setAside('written');
    const { page, complaints } = await openConsole('/journey', true);
    await page.getByText('live', { exact: true }).waitFor();
    const text = 'Are you open on Sundays?';
    await test.client.write(connectionId, text);
    await page.getByText(text).waitFor();
    for (const key of ['g', 's']) await page.keyboard.press(key);
    await letters(page).first().waitFor();
    await KEYBOARD.press(page.getByRole('button', { name: /^Replay (it|all)/ }));
    for (const key of ['Tab', 'Enter']) await page.keyboard.press(key);
    await page.getByText('A change that the handler fails to process is set aside here.').waitFor();
    expect(await test.connector('GET', '/v1/dead-letters')).toMatchObject({ deadLetters: [] });

    for (const key of ['g', 'i']) await page.keyboard.press(key);
    await KEYBOARD.press(page.getByRole('link', { name: text }));
    await KEYBOARD.write(page.getByRole('textbox', { name: /^Answer/ }), 'From ten to four.');
    await KEYBOARD.press(page.getByRole('button', { name: 'Send' }));
    const answer = page.getByRole('log').getByRole('listitem').filter({ hasText: 'From ten to four.' });
    await answer.getByRole('img', { name: /sent|delivered|read/ }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('is accessible: trends and findings, received webhooks, and a question about many things', async () => {
    for (const text of ['first', 'second']) await setAside(text);
    await fetch(`${test.connectorUrl}/webhooks/messaging`, { method: 'POST', body: '{}' });
    const { page, complaints } = await openConsole('/overview', true);
    await page.getByRole('region', { name: 'Findings' }).waitFor();
    await page.getByRole('region', { name: 'Figures' }).waitFor();
    await expectAccessible(page);
    await moveTo(page, '/deliveries?q=refused');
    await page.getByRole('list', { name: 'Received webhooks' }).getByRole('listitem').first().waitFor();
    await expectAccessible(page);
    await moveTo(page, '/sync');
    await page.getByRole('button', { name: /^Replay all/ }).click();
    await page.locator('.confirm:popover-open').waitFor();
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });

  it('has no token in its address, stays admitted, and says how to be admitted after a new start', async () => {
    const host = await startProductionConsole(connector());
    const { page } = await host.open('/sync');
    const account = page.getByRole('region', { name: 'Account default' });
    await account.waitFor();
    await page.reload();
    await account.waitFor();
    expect(new URL(page.url()).search).toBe('');
    // Beside the name of the connector, on a narrow screen as well.
    await page.setViewportSize({ width: 390, height: 800 });
    await host.close();
    await page.getByRole('heading', { name: 'The server does not respond' }).waitFor();
    const word = await page.getByText('no server', { exact: true }).boundingBox();
    expect((word?.x ?? 390) + (word?.width ?? 0)).toBeLessThanOrEqual(390);
    await startProductionConsole(connector(), { port: Number(new URL(host.url).port) });
    await page.getByRole('heading', { name: 'Open the URL from the terminal' }).waitFor();
  });
});
