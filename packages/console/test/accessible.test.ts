import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectAccessible, moveTo, openPage } from '../../../test/support/chromium.ts';
import { loopOfFile } from '../../../test/support/loop-of-file.ts';

const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>';
const CONTACT = '447700900201';

/** Whether the handler of the CRM fails. */
let isBroken = false;
const test = loopOfFile({
  handlers: {
    attempts: 1,
    onChange({ type }) {
      if (isBroken && type === 'message.created') throw new RangeError(`no room for ${HOSTILE}`);
    },
  },
});
let desk: string;
let message: string;

beforeAll(async () => {
  desk = await test.client.qrConnection();
  message = await test.client.write(desk, HOSTILE);
  await test.loop.settle();
});

const open = async (path: string): Promise<Page> =>
  (await openPage(`${test.loop.info().sandboxUrl}${path}`)).page;

/** Shows each of these addresses, and judges the page once it has the text. */
async function judge(page: Page, ...screens: readonly (readonly [path: string, text: string | RegExp])[]) {
  for (const [path, text] of screens) {
    await moveTo(page, path);
    await page.getByText(text).first().waitFor();
    await expectAccessible(page);
  }
}

describe('without anything to list, with something, and with what opens from it, there is no barrier in', () => {
  it('the overview, with and without concerns', async () => {
    const page = await open('/overview');
    await page.getByText('SERVICE_API_KEY=').waitFor();
    await judge(page, ['/overview', 'Nothing. Every number works']);
    await test.client.dropWebhooks();
    await judge(page, ['/overview', '1 fault rule armed']);
    await test.client.clearFaults();
  });

  it('the connections', async () => {
    const page = await open('/connections?q=nothing');
    await page.getByText('No connection matches').waitFor();
    await page.getByRole('button', { name: 'New connection' }).click();
    await expectAccessible(page);
    await judge(page, ['/connections', 'Front desk']);
    await moveTo(page, `/connections/${desk}`);
    await page.getByText('What the states mean').click();
    await expectAccessible(page);
  });

  it('the phones', async () => {
    // So that the QR code stays valid.
    await test.sandbox('POST', '/clock/freeze');
    const { connection } = await test.service<{ connection: { id: string } }>('POST', '/connections', {});
    const page = await open('/phone');
    await judge(
      page,
      ['/phone?q=phone:1', 'No phone matches'],
      [`/phone/${connection.id}`, 'valid for 20 s'],
      [`/phone/${desk}?with=${CONTACT}`, 'The agent answers in the'],
      [`/phone/${CONTACT}?list=contacts`, HOSTILE],
      [`/phone/${CONTACT}?list=contacts&with=${desk}`, 'Attach'],
    );
    await page.getByRole('button', { name: 'Change the behavior' }).click();
    await page.getByLabel('Replies to each message').waitFor();
    await expectAccessible(page);
    await test.sandbox('POST', '/clock/run');
  });

  it('the inbox', async () => {
    const page = await open('/inbox');
    await judge(
      page,
      ['/inbox?peer=447700900299', 'No messages with +447700900299 yet'],
      ['/inbox', HOSTILE],
      [`/inbox/${desk}~${CONTACT}`, 'Mark as read'],
    );
  });

  it('the deliveries and the webhook', async () => {
    const page = await open('/deliveries');
    const { entries } = await test.sandbox<{ entries: { id: string }[] }>('GET', '/deliveries?limit=1');
    await judge(
      page,
      ['/deliveries', 'message.received'],
      [`/deliveries/${entries[0]?.id}`, 'POST https://'],
      ['/deliveries/webhook', 'Close the tunnel of connector'],
      ['/deliveries?q=type:message.received', /^Resend all/],
    );
    await page.getByRole('button', { name: /^Resend all/ }).click();
    await page.getByText(/again, the same bytes, oldest first/).waitFor();
    await expectAccessible(page);
  });

  it('the calls', async () => {
    await expect(test.service('GET', '/connections/unknown')).rejects.toThrow('404');
    const page = await open('/calls');
    await judge(page, ['/calls?q=status:1*', 'No call matches'], ['/calls?q=status:4*', 'not_found']);
    await page
      .getByRole('link', { name: /404 GET/ })
      .first()
      .click();
    await page.getByRole('heading', { name: 'Refused by the check connection' }).waitFor();
    await expectAccessible(page);
  });

  it('the synchronization', async () => {
    isBroken = true;
    await test.client.write(desk, HOSTILE);
    await test.loop.settle();
    await judge(await open('/sync'), ['/sync', 'no room for']);
  });

  it('the access of programs', async () => {
    await test.sandbox('POST', '/oauth-apps', {
      name: HOSTILE,
      redirectUris: ['http://127.0.0.1:3000/callback'],
      scopes: ['messaging.read', 'messaging.send'],
    });
    const { workspaceId } = test.loop.info();
    const { id } = await test.sandbox<{ id: string }>('POST', `/workspaces/${workspaceId}/api-keys`, {});
    const page = await open('/access');
    await judge(page, ['/access', id], ['/access', HOSTILE]);
    await page.getByRole('link', { name: id }).click();
    await page.getByRole('button', { name: 'Save' }).waitFor();
    await expectAccessible(page);
  });

  it('the journey of a message', async () => {
    const page = await open('/journey');
    await judge(page, ['/journey', HOSTILE], [`/journey/${message}`, 'A webhook reported it first.']);
    for (const line of await page.locator('.journey-step > summary').all()) await line.click();
    await expectAccessible(page);
  });

  it('the time, the faults and the saved states', async () => {
    const match = { surface: 'webhook' };
    await test.sandbox('POST', '/faults', { id: '<b>hostile</b>', match, action: { type: 'drop' } });
    await test.sandbox('POST', '/snapshots', { label: '<i>hostile</i>' });
    const page = await open('/deliveries');
    await page.getByText('live', { exact: true }).waitFor();
    for (const [key, text] of [
      ['t', /^in \d\d\.\d y$/],
      ['f', '<b>hostile</b>'],
      ['b', '<i>hostile</i>'],
    ] as const) {
      await page.keyboard.press(key);
      await page.getByText(text).first().waitFor();
      await expectAccessible(page);
      if (key === 't') {
        const rows = page.getByRole('region', { name: 'What happens' }).getByRole('listitem');
        const heights = await rows.evaluateAll((all) => all.map((row) => row.clientHeight));
        expect(new Set(heights).size).toBe(1);
      }
      await page.keyboard.press('Escape');
    }
  });
});
