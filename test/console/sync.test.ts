import type { Page } from 'playwright-core';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { DeadLetterList } from '../../src/contract/connector/changes.ts';
import { expectAccessible, moveTo, openPage, type WatchedPage } from '../support/chromium.ts';
import { KEYBOARD } from '../support/keyboard.ts';
import { loopOfFile } from '../support/loop-of-file.ts';
import { startProductionConsole } from '../support/production-console.ts';
import { createCaller } from '../support/read-lists.ts';

const HOSTILE = '<img src=x onerror="document.title=1">';

let connectionId: string;
/** Messages that the handler was called with. */
const calls: string[] = [];
/** Whether the handler of the CRM fails. */
let isBroken = true;
const test = loopOfFile({
  handlers: {
    attempts: 1,
    onChange(change) {
      const { type } = change;
      if (type === 'message.created') calls.push(change.messageId);
      if (isBroken && type === 'message.created') throw new RangeError(`no room for ${HOSTILE}`);
    },
  },
});

beforeAll(async () => {
  connectionId = await test.client.qrConnection();
  await test.client.sync();
});

afterEach(async () => {
  const call = createCaller(test.connectorUrl, test.connectorToken);
  const { deadLetters } = await call<DeadLetterList>('GET', '/v1/dead-letters');
  for (const { id } of deadLetters) await call('DELETE', `/v1/dead-letters/${id}`);
});

/** Creates this many changes that the handler cannot process. */
async function setAside(texts: readonly string[]): Promise<readonly string[]> {
  isBroken = true;
  const ids: string[] = [];
  for (const text of texts) ids.push(await test.client.write(connectionId, text));
  await test.loop.settle();
  isBroken = false;
  return ids;
}

const connector = () => ({ url: test.connectorUrl, token: test.connectorToken });

/** Opens the console of the connector in a browser that it admits. */
async function openConsole(path: string, write = false): Promise<WatchedPage> {
  const host = await startProductionConsole(connector(), { write });
  return host.open(path);
}

const letters = (page: Page) => page.getByRole('list', { name: 'Dead letters' }).getByRole('listitem');
const heard = (path: string): string => `${test.loop.info().sandboxUrl}${path}`;

describe('Sync', () => {
  it('replays a dead letter, which leaves the list, and then all of them after one confirmation', async () => {
    await setAside(['one', 'two', 'three']);
    const { page, complaints } = await openPage(heard('/sync'));
    await expect.poll(() => letters(page).count()).toBe(3);
    await letters(page).first().getByRole('button', { name: 'Replay' }).click();
    await expect.poll(() => letters(page).count()).toBe(2);
    await page.getByRole('button', { name: 'Replay all 2' }).click();
    expect(await letters(page).count()).toBe(2);
    await page.getByText('The handler is called again with each change').waitFor();
    await page.locator('.confirm').getByRole('button', { name: 'Replay all 2' }).click();
    await page.getByText('A change that the handler fails to process is set aside here.').waitFor();
    await test.loop.settle();
    expect(await test.connector('GET', '/v1/dead-letters')).toMatchObject({ deadLetters: [] });
    expect(complaints).toEqual([]);
  });

  it('keeps a question open, and its button disabled, until the replay before it has ended', async () => {
    await setAside(['one', 'two', 'three']);
    const { page } = await openPage(heard('/sync'));
    await expect.poll(() => letters(page).count()).toBe(3);
    const reading = Promise.withResolvers<void>();
    await page.route('**/replay', async (route) => {
      const response = await route.fetch();
      await reading.promise;
      await route.fulfill({ response });
    });
    await letters(page).first().getByRole('button', { name: 'Replay' }).click();
    await expect.poll(() => letters(page).count()).toBe(2);
    await page.getByRole('button', { name: 'Replay all 2' }).click();
    const confirm = page.locator('.confirm').getByRole('button', { name: 'Replay all 2' });
    await confirm.click({ force: true });
    expect(await confirm.isVisible()).toBe(true);
    expect(await confirm.isDisabled()).toBe(true);
    reading.resolve();
    await confirm.click();
    await page.getByText('A change that the handler fails to process is set aside here.').waitFor();
  });

  it('replays a dead letter by keyboard alone', async () => {
    await setAside(['by keyboard']);
    const { page, complaints } = await openPage(heard('/deliveries'));
    await page.getByText('live', { exact: true }).waitFor();
    for (const key of ['g', 's']) await page.keyboard.press(key);
    await expect.poll(() => letters(page).count()).toBe(1);
    await KEYBOARD.press(letters(page).getByRole('button', { name: 'Replay' }));
    await page.getByText('A change that the handler fails to process is set aside here.').waitFor();
    expect(complaints).toEqual([]);
  });

  it('shows how far each consumer is, and pauses, resumes and replays it', async () => {
    isBroken = false;
    const id = await test.client.write(connectionId, 'Hello');
    await test.loop.settle();
    const { page, complaints } = await openPage(heard('/sync'));
    const handler = page.getByRole('list', { name: 'Consumers' }).getByRole('listitem');
    await handler.getByText('up to date').waitFor();
    expect(await handler.innerText()).toMatch(/^handler\s+handler\s+running/);
    await handler.getByRole('button', { name: 'Pause' }).click();
    await handler.getByText('paused').waitFor();
    await test.loop.settle();
    isBroken = true;
    await test.client.write(connectionId, 'Anybody there?');
    await test.loop.settle();
    await handler.getByText('1 change behind').waitFor();
    await handler.getByRole('button', { name: 'Resume' }).click();
    await handler.getByText('running').waitFor();
    await test.loop.settle();
    await handler.getByText('1 dead letter').waitFor();
    calls.length = 0;
    isBroken = false;
    await handler.getByRole('button', { name: 'Replay', exact: true }).click();
    const from = page.getByLabel('Deliver changes to handler again, from');
    await from.fill('yesterday');
    await page.getByRole('button', { name: 'Replay from there' }).click();
    await page.getByText('from: must be').waitFor();
    await from.fill('beginning');
    await page.getByRole('button', { name: 'Replay from there' }).click();
    await from.waitFor({ state: 'hidden' });
    await test.loop.settle();
    expect(calls).toContain(id);
    await expectAccessible(page);
    expect(complaints.filter((each) => !each.includes('400'))).toEqual([]);
  });

  it('shows the result of the last poll live', async () => {
    const { page } = await openPage(heard('/sync'));
    const account = page.getByRole('region', { name: 'Account default' });
    await account.getByText('succeeded').waitFor();
    await test.client.failPolls();
    await page.getByRole('button', { name: 'Poll now' }).click();
    await account.getByText('internal_error').waitFor();
    await test.client.clearFaults();
  });

  it('filters sends by what is certain about them', async () => {
    const body = { connectionId, to: '447700900201', text: HOSTILE, reference: 'r1' };
    await test.connector('POST', '/v1/messages', body);
    await test.loop.settle();
    const { page, complaints } = await openPage(heard('/sync?state=unknown'));
    await page.getByText('Uncertain: it may have been sent.').waitFor();
    await page.getByText('There are no such sends.').waitFor();
    await page.getByRole('link', { name: 'sent', exact: true }).click();
    await page.getByText(`+447700900201 ${HOSTILE}`).waitFor();
    expect(new URL(page.url()).search).toBe('?state=sent');
    expect(complaints).toEqual([]);
  });

  it('is accessible', async () => {
    await setAside([HOSTILE]);
    const { page } = await openPage(heard('/sync'));
    await letters(page).first().waitFor();
    await expectAccessible(page);
  });
});

describe('the console beside a connector', () => {
  it('is read-only: controls that change something are disabled and say why', async () => {
    const [id = ''] = await setAside(['read only']);
    const { page, complaints } = await openConsole('/sync');
    await letters(page).first().waitFor();
    expect(await page.getByRole('button', { name: 'Poll now' }).isDisabled()).toBe(true);
    expect(
      await page
        .getByRole('button', { name: /^Replay/ })
        .first()
        .isDisabled(),
    ).toBe(true);
    await page.getByText('Read only. Start the console with --write to change anything.').first().waitFor();
    expect(await page.getByRole('navigation', { name: 'Screens' }).getByRole('link').allInnerTexts()).toEqual(
      [
        expect.stringContaining('Overview'),
        expect.stringContaining('Inbox'),
        expect.stringContaining('Sync'),
        expect.stringContaining('Journey'),
      ],
    );
    const account = page.getByRole('region', { name: 'Account default' });
    await account.getByText('active API key').waitFor();
    await account.getByText(`${test.loop.info().baseUrl}`).waitFor();
    expect(await account.getByRole('list', { name: 'Connections' }).getByRole('link').count()).toBe(0);
    await moveTo(page, `/journey/${id}`);
    await page.getByText('A webhook reported it first.').waitFor();
    await page.getByText('The handler of the CRM failed.').waitFor();
    expect(await page.getByText('Attempts').count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  it('begins with whether the connector keeps up, and with what needs attention', async () => {
    await setAside(['not processed']);
    const { page, complaints } = await openConsole('/');
    const attention = page.getByRole('region', { name: 'Needs attention' });
    await attention.getByRole('link', { name: /dead letter|set aside|fail/i }).waitFor();
    const summary = page.getByRole('region', { name: 'Connector', exact: true });
    await summary.getByText('Changes for the CRM').waitFor();
    const account = summary.getByRole('region', { name: 'Account default' });
    await account.getByText('succeeded').waitFor();
    expect(await account.getByText('none yet').count()).toBe(0);
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });

  it('shows conversations, and answers only with --write', async () => {
    const text = 'Are you open on Sundays?';
    await test.client.arrival(await test.client.write(connectionId, text));
    const { page: reader } = await openConsole('/inbox');
    await reader.getByRole('link', { name: text }).click();
    await reader.getByRole('log').getByText(text).waitFor();
    expect(await reader.getByRole('button', { name: 'Send' }).count()).toBe(0);

    const { page, complaints } = await openConsole('/inbox', true);
    await KEYBOARD.press(page.getByRole('link', { name: text }));
    await KEYBOARD.write(page.getByRole('textbox', { name: /^Answer/ }), 'From ten to four.');
    await KEYBOARD.press(page.getByRole('button', { name: 'Send' }));
    const answer = page.getByRole('log').getByRole('listitem').filter({ hasText: 'From ten to four.' });
    await answer.getByRole('img', { name: /sent|delivered|read/ }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('replays with --write, by keyboard alone, and shows new messages live', async () => {
    await setAside(['written']);
    const { page, complaints } = await openConsole('/journey', true);
    await page.getByText('live', { exact: true }).waitFor();
    await test.client.write(connectionId, 'while it is open');
    await page.getByText('while it is open').waitFor();
    for (const key of ['g', 's']) await page.keyboard.press(key);
    await letters(page).first().waitFor();
    await KEYBOARD.press(page.getByRole('button', { name: /^Replay (it|all)/ }));
    for (const key of ['Tab', 'Enter']) await page.keyboard.press(key);
    await page.getByText('A change that the handler fails to process is set aside here.').waitFor();
    expect(complaints).toEqual([]);
  });

  it('has no token in its address, and stays admitted when the page is loaded again', async () => {
    const { page } = await openConsole('/sync');
    const account = page.getByRole('region', { name: 'Account default' });
    await account.waitFor();
    await page.reload();
    await account.waitFor();
    await page.goBack();
    await page.getByRole('region', { name: 'Needs attention' }).waitFor();
    expect(new URL(page.url()).search).toBe('');
  });

  it('names the connector, its environment and what it may do, on every screen and in the title', async () => {
    const name = `${new URL(test.connectorUrl).host} · production · read-only`;
    const { page } = await openConsole('/');
    for (const screen of ['Overview', 'Inbox', 'Sync', 'Journey']) {
      await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: screen }).click();
      await page.getByRole('banner').getByText(name).waitFor();
      expect(await page.title()).toContain(name);
    }
    await expectAccessible(page);
  });

  it('says how to be admitted again when the command was started again', async () => {
    const host = await startProductionConsole(connector());
    const { page } = await host.open('/sync');
    await page.getByText('live', { exact: true }).waitFor();
    await host.close();
    await page.getByRole('heading', { name: 'The server does not respond' }).waitFor();
    await startProductionConsole(connector(), { port: Number(new URL(host.url).port) });
    await page.getByRole('heading', { name: 'Open the URL from the terminal' }).waitFor();
  });
});
