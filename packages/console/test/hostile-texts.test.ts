import type { Page } from 'playwright-core';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SCREENS } from '../../../src/contract/console/screens.ts';
import { moveTo, openPage } from '../../../test/support/chromium.ts';
import { loopOfFile } from '../../../test/support/loop-of-file.ts';

/** Runs wherever it is interpreted as markup, as code or as a URL. */
const HOSTILE = `"'><img src=x onerror="globalThis.ran=1"><script>globalThis.ran=1</script><a href="javascript:ran=1">`;
/** The same in a name that changes the direction of the text after it. */
const NAME = `\u202e${HOSTILE}`;
const LABEL = `Label ${NAME}`;
const FILENAME = `File ${NAME}`;
const CAPTION = `Caption ${HOSTILE}`;
const REPLY = `Reply ${HOSTILE}`;
const TEXT = `Text ${HOSTILE}`;
const CONTACT = '447700900201';
/** A contact that only sends a file, to which nobody answers. */
const SENDER = '447700900236';
const MOST_DETAILS = 6;
/** Screens with only figures and ids, which show no untrusted text. */
const WITHOUT_TEXTS: readonly string[] = ['/overview', '/calls', '/sync'];

const test = loopOfFile();
let connectionId: string;

beforeAll(async () => {
  await fill();
});

/** Puts the text wherever somebody other than the reader can. */
async function fill(): Promise<void> {
  const { sandbox, service, connector } = test;
  const created = await service<{ connection: { id: string } }>('POST', '/connections', { label: LABEL });
  connectionId = created.connection.id;
  await sandbox('POST', `/connections/${connectionId}/scan`, { phoneNumber: '447700900171' });
  await sandbox('PUT', `/contacts/${CONTACT}`, { autoReply: REPLY });
  const { messageId } = await sandbox<{ messageId: string }>('POST', `/contacts/${CONTACT}/messages`, {
    connectionId,
    text: TEXT,
  });
  const media = {
    filename: FILENAME,
    mimetype: 'text/html',
    data: btoa(HOSTILE),
    caption: CAPTION,
  };
  await sandbox('POST', `/contacts/${SENDER}/messages`, { connectionId, media });
  // The connector must know the connection before it sends.
  await test.loop.settle();
  await connector('POST', '/v1/messages', { reference: HOSTILE, connectionId, to: CONTACT, text: HOSTILE });
  await sandbox('POST', '/oauth-apps', {
    name: NAME,
    redirectUris: ['https://app.example.com/<script>globalThis.ran=1</script>'],
    scopes: ['messaging.read'],
  });
  await test.loop.settle();
  const { entries } = await sandbox<{ entries: { id: string }[] }>(
    'GET',
    `/deliveries?q=message:${messageId}`,
  );
  const headers = { 'x-hostile': HOSTILE };
  await sandbox('POST', `/deliveries/${entries[0]?.id}/copies`, { body: HOSTILE, headers });
  await expect(service('GET', `/connections/${encodeURIComponent(HOSTILE)}`)).rejects.toThrow('404');
  // By then the contact has replied.
  await sandbox('POST', '/clock/advance', { ms: 10_000 });
  await test.loop.settle();
}

const main = (page: Page) => page.locator('main');

/** Waits until the screen shows what the server has answered. */
async function shown(page: Page): Promise<string> {
  await page.getByText('live', { exact: true }).waitFor();
  await expect.poll(() => page.locator('.loading').count()).toBe(0);
  return await main(page).innerText();
}

/** Clicks the link to a screen, and waits until the one before it is gone. */
async function changeScreen(page: Page, path: string): Promise<void> {
  await page.locator('main > *').first().evaluate('(shown) => shown.setAttribute("data-before", "")');
  await page.locator(`nav ul a[href="${path}"]`).click();
  await page.locator('[data-before]').waitFor({ state: 'detached' });
}

/** Clicks each of the first links to a detail of the screen, and waits until each is shown. */
async function openDetails(page: Page, path: string): Promise<void> {
  const links = await page
    .locator(`main a[href^="${path}/"]`)
    .evaluateAll((all: { href: string }[]) => [...new Set(all.map(({ href }) => new URL(href).pathname))]);
  for (const detail of links.slice(0, MOST_DETAILS)) {
    const link = page.locator(`main a[href="${detail}"]`).first();
    // Beside most details, the list stays.
    if ((await link.count()) === 0) await page.goBack();
    const before = await shown(page);
    await link.click();
    await page.waitForURL(`**${detail}`);
    await expect.poll(() => shown(page)).not.toBe(before);
  }
}

describe('untrusted text', () => {
  let page: Page;
  let complaints: readonly string[];
  let dialogs: number;

  beforeEach(async () => {
    ({ page, complaints } = await openPage(`${test.loop.info().sandboxUrl}/overview`));
    dialogs = 0;
    page.on('dialog', (dialog) => {
      dialogs += 1;
      void dialog.dismiss();
    });
  });

  async function expectOnlyText(path: string): Promise<void> {
    const ran = await page.evaluate('globalThis.ran');
    const elements = await page.locator('img[src="x"], a[href^="javascript:"], main script').count();
    expect({ ran, elements, dialogs, complaints }, path).toEqual({
      ran: undefined,
      elements: 0,
      dialogs: 0,
      complaints: [],
    });
  }

  it('is shown as text on every screen and on what opens from it', async () => {
    // Overview is open: it is left, and comes last.
    for (const { path } of [...SCREENS.slice(1), SCREENS[0]]) {
      await changeScreen(page, path);
      if (!WITHOUT_TEXTS.includes(path)) await main(page).getByText('<img src=x').first().waitFor();
      await openDetails(page, path);
      await expectOnlyText(path);
    }
  });

  it('is shown as text where it is a label, a file name, a caption, a message, an automatic reply or part of a question', async () => {
    for (const [path, texts] of [
      [`/phone/${connectionId}`, [LABEL]],
      [`/phone/${connectionId}?with=${SENDER}`, [FILENAME, CAPTION]],
      [`/phone/${SENDER}?list=contacts`, [LABEL, CAPTION]],
      [`/phone/${SENDER}?list=contacts&with=${connectionId}`, [FILENAME, CAPTION]],
      [`/inbox/${connectionId}~${SENDER}`, [CAPTION]],
      [`/inbox/${connectionId}~${CONTACT}`, [TEXT, REPLY]],
    ] as const) {
      await moveTo(page, path);
      for (const text of texts) await main(page).getByText(text).first().waitFor();
      await expectOnlyText(path);
    }
    await moveTo(page, `/connections/${connectionId}`);
    await page.getByRole('heading', { name: LABEL }).waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByText(`Delete “${LABEL}”?`).waitFor();
    await expectOnlyText('/connections');
  });
});
