import type { Page } from 'playwright-core';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { DeadLetterList } from '../../../src/contract/connector/changes.ts';
import { expectAccessible, moveTo, openPage, type WatchedPage } from '../../../test/support/chromium.ts';
import { loopOfFile } from '../../../test/support/loop-of-file.ts';
import { startProductionConsole } from '../../../test/support/production-console.ts';
import { createCaller } from '../../../test/support/read-lists.ts';

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
async function openConsole(path: string): Promise<WatchedPage> {
  const host = await startProductionConsole(connector());
  return host.open(path);
}

const letters = (page: Page) => page.getByRole('list', { name: 'Dead letters' }).getByRole('listitem');
const heard = (path: string): string => `${test.loop.info().sandboxUrl}${path}`;

describe('Sync', () => {
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
        expect.stringContaining('Deliveries'),
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
});
