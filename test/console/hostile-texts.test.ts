import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { SCREENS } from '../../src/contract/console/screens.ts';
import { openPage } from '../support/chromium.ts';
import { loopOfFile } from '../support/loop-of-file.ts';

/** Runs wherever it is interpreted as markup, as code or as a URL. */
const HOSTILE = `"'><img src=x onerror="globalThis.ran=1"><script>globalThis.ran=1</script><a href="javascript:ran=1">`;
/** The same in a name that changes the direction of the text after it. */
const NAME = `\u202e${HOSTILE}`;
const CONTACT = '447700900201';
const MOST_DETAILS = 6;
/** Screens with only figures and ids, which show no untrusted text. */
const WITHOUT_TEXTS: readonly string[] = ['/overview', '/calls', '/sync'];

const test = loopOfFile();

beforeAll(async () => {
  await fill();
});

/** Puts the text wherever somebody other than the reader can. */
async function fill(): Promise<void> {
  const { sandbox, service, connector, client } = test;
  const connectionId = await client.qrConnection();
  await service('POST', '/connections', { label: NAME });
  await sandbox('PUT', `/contacts/${CONTACT}`, { autoReply: HOSTILE });
  const messageId = await client.write(connectionId, HOSTILE);
  const media = { filename: NAME, mimetype: 'text/html', data: btoa(HOSTILE), caption: HOSTILE };
  await sandbox('POST', `/contacts/${CONTACT}/messages`, { connectionId, media });
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
  await test.loop.settle();
}

/** Waits until the screen shows what the server has answered. */
async function shown(page: Page): Promise<string> {
  await page.getByText('live', { exact: true }).waitFor();
  await expect.poll(() => page.locator('.loading').count()).toBe(0);
  return await page.locator('main').innerText();
}

describe('untrusted text', () => {
  it.each(SCREENS.map(({ path }) => path))(
    'is shown as text on %s and on what opens from it',
    async (path) => {
      const { page, complaints } = await openPage(`${test.loop.info().sandboxUrl}${path}`);
      let dialogs = 0;
      page.on('dialog', (dialog) => {
        dialogs += 1;
        void dialog.dismiss();
      });
      const texts = [await shown(page)];
      const links = await page
        .locator(`main a[href^="${path}/"]`)
        .evaluateAll((all: { href: string }[]) => [
          ...new Set(all.map(({ href }) => new URL(href).pathname)),
        ]);
      for (const detail of links.slice(0, MOST_DETAILS)) {
        await page.locator(`main a[href="${detail}"]`).first().click();
        await page.waitForURL(`**${detail}`);
        texts.push(await shown(page));
        await page.goBack();
        await shown(page);
      }
      expect(await page.evaluate('globalThis.ran')).toBeUndefined();
      expect(await page.locator('img[src="x"], a[href^="javascript:"], main script').count()).toBe(0);
      expect(dialogs).toBe(0);
      expect(complaints).toEqual([]);
      if (!WITHOUT_TEXTS.includes(path)) expect(texts.join('\n')).toContain('<img src=x');
    },
  );
});
