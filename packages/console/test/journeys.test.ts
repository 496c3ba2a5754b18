import { readFileSync } from 'node:fs';
import type { Locator, Page } from 'playwright-core';
import { afterEach, describe, expect, it } from 'vitest';
import { readScenario } from '../../../src/scenario/scenario.ts';
import { moveTo, openPage, watchPage } from '../../../test/support/chromium.ts';
import { KEYBOARD, tabTo } from '../../../test/support/keyboard.ts';
import { loopOfFile } from '../../../test/support/loop-of-file.ts';
import { createCaller } from '../../../test/support/read-lists.ts';

// What polling repairs here, a test has asked for.
const test = loopOfFile({ reconcileIntervalMs: 3_600_000 });
const url = (path: string): string => `${test.loop.info().sandboxUrl}${path}`;
const advance = (ms: number) => test.sandbox('POST', '/clock/advance', { ms });
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const open = async (path: string) => {
  const opened = await openPage(url(path));
  await opened.page.getByText('live', { exact: true }).waitFor();
  return opened;
};

afterEach(async () => {
  await test.client.clearFaults();
  await test.sandbox('POST', '/clock/run');
});

describe('in the sandbox, with the mouse', () => {
  /** Opens a screen; `click` counts. */
  async function openCounting(path: string) {
    const opened = await open(path);
    let clicks = 0;
    const click = async (target: Locator): Promise<void> => {
      clicks += 1;
      await target.click();
    };
    return { ...opened, click, clicks: () => clicks };
  }

  it('a webhook is lost and its message followed until polling has repaired it, in at most 4 clicks', async () => {
    await test.client.write(await test.client.qrConnection(), 'Hello');
    await test.loop.settle();
    const { page, click, clicks } = await openCounting('/overview');
    // A first step, which is offered until polling has repaired something.
    await click(button(page, 'Lose one'));
    await page.getByText('Its webhook was dropped, and the connector does not know it yet.').waitFor();
    await test.client.sync();
    await page.getByText('Its webhook was dropped. Polling repaired it.').waitFor();
    expect(clicks()).toBeLessThanOrEqual(4);
  });

  it('the agent answers a contact in at most 4 clicks', async () => {
    await test.client.write(await test.client.qrConnection(), 'Is anybody there?');
    await test.loop.settle();
    const { page, click, clicks } = await openCounting('/overview');
    await click(page.getByRole('link', { name: 'Inbox', exact: true }).first());
    await click(page.getByRole('link', { name: /Is anybody there\?/ }));
    await page.getByRole('textbox', { name: /^Answer to / }).fill('Yes.');
    await click(button(page, 'Send'));
    const tick = { name: /^(?:sent|delivered|read)$/ };
    await page.getByRole('log').getByRole('img', tick).first().waitFor();
    expect(clicks()).toBeLessThanOrEqual(4);
  });

  it('a number is created and paired in at most 5 clicks', async () => {
    const { page, click, clicks } = await openCounting('/connections');
    await click(button(page, 'New connection'));
    await click(page.getByRole('form', { name: 'New connection' }).getByRole('button', { name: 'Create' }));
    await click(page.getByRole('link', { name: 'Scan it with the phone' }));
    await click(button(page, 'Scan'));
    await page.getByText('No chats yet').waitFor();
    expect(clicks()).toBeLessThanOrEqual(5);
  });
});

describe('in the sandbox, by keyboard alone', () => {
  it('a message whose webhook was dropped is followed until polling has repaired it', async () => {
    const connection = await test.client.qrConnection();
    // The poll at startup would find the message.
    await test.loop.settle();
    const { page, complaints } = await open('/deliveries');
    await page.keyboard.press('f');
    await KEYBOARD.press(page.getByRole('button', { name: 'Outage' }));
    await KEYBOARD.press(page.getByRole('button', { name: 'Turn outage-calls off' }));
    const id = await test.client.write(connection, 'Anybody there?');
    await test.loop.settle();
    await KEYBOARD.press(page.getByRole('link', { name: 'Show what outage-webhooks has hit' }));
    await page.getByRole('link', { name: /dropped message\.received.*Anybody there/ }).waitFor();
    await KEYBOARD.press(page.getByRole('button', { name: 'All off' }));
    await page.keyboard.press('Escape');
    await page.keyboard.press('/');
    await page.getByRole('combobox', { name: 'Number, id or text' }).waitFor();
    await page.keyboard.insertText(id);
    await page.keyboard.press('Enter');
    await page.getByText('Its webhook was dropped, and the connector does not know it yet.').waitFor();
    await test.client.sync();
    await page.getByText('Its webhook was dropped. Polling repaired it.').waitFor();
    expect(await page.locator('.journey-step > summary').allInnerTexts()).toEqual([
      expect.stringContaining('+447700900201 wrote a text'),
      expect.stringContaining('The service stored it'),
      expect.stringContaining('message.received: dropped after 3 attempts'),
      expect.stringMatching(/A poll.* created the message/),
      expect.stringMatching(/Change \d+ for the CRM/),
    ]);
    // The browser logs that the connector did not know the message at first.
    expect(complaints.filter((each) => !each.includes('404 (Not Found)'))).toEqual([]);
  });

  it('a connection is created, paired with a picture of its QR code, and has its first message in the inbox', async () => {
    // The code in the picture stays valid.
    await test.sandbox('POST', '/clock/freeze');
    const { page, complaints } = await open('/connections');
    await button(page, 'New connection').waitFor();
    await page.keyboard.press('c');
    await page.getByRole('textbox', { name: 'Label' }).waitFor();
    await page.keyboard.insertText('Warehouse');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/connections/c*');
    const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    await KEYBOARD.press(page.getByRole('link', { name: 'Scan it with the phone' }));
    await page.getByText('valid for 20 s').waitFor();
    const screenshot = await page.screenshot();
    const choose = (buffer: Buffer) =>
      page
        .getByLabel('Picture of a QR code')
        .setInputFiles({ name: 'shot.png', mimeType: 'image/png', buffer });
    await choose(Buffer.from('text'));
    await page.getByText('The file is not a picture that the browser can read.').waitFor();
    await choose(await page.locator('.strip').screenshot());
    await page.getByText("'qr': contains no readable QR code.").waitFor();
    await KEYBOARD.write(page.getByLabel('Number of this phone'), '447700900171');
    const dropped = await page.evaluateHandle(
      `(() => {
        const bytes = Uint8Array.fromBase64('${screenshot.toString('base64')}');
        const files = new DataTransfer();
        files.items.add(new File([bytes], 'shot.png', { type: 'image/png' }));
        return files;
      })()`,
    );
    await page.getByRole('region', { name: 'Screenshot' }).dispatchEvent('drop', { dataTransfer: dropped });
    await page.getByText('No chats yet').waitFor();
    for (const key of ['g', 'i']) await page.keyboard.press(key);
    await test.client.write(id, 'To a new number');
    await page.getByRole('link', { name: /447700900201.*Warehouse.*To a new number/ }).waitFor();
    expect(complaints.filter((each) => !/a status of 4\d\d/.test(each))).toEqual([]);
  });

  it('a contact and an agent exchange messages, whose ticks advance to read on both sides', async () => {
    await test.sandbox('POST', '/clock/freeze');
    const desk = await test.client.qrConnection();
    const contact = '447700900232';
    await test.sandbox('PUT', `/contacts/${contact}`, { deliverAfterMs: 300, readAfterMs: null });
    const { page: phone, complaints } = await openPage(url(`/phone/${contact}?list=contacts&with=${desk}`));
    const inbox = await phone.context().newPage();
    const complaintsOfInbox = watchPage(inbox);
    await inbox.goto(url('/inbox'));
    await inbox.getByText('live', { exact: true }).waitFor();
    const tick = (page: Page, status: string) => page.getByRole('log').getByRole('img', { name: status });

    await KEYBOARD.write(phone.getByRole('textbox', { name: /^Message to Front desk/ }), 'Do you deliver?');
    await KEYBOARD.press(button(phone, 'Send'));
    await KEYBOARD.press(inbox.getByRole('link', { name: new RegExp(`${contact}.*Do you deliver\\?`) }));
    await KEYBOARD.write(
      inbox.getByRole('textbox', { name: `Answer to +${contact}` }),
      'Yes, on <b>Fridays</b>.',
    );
    await KEYBOARD.press(button(inbox, 'Send'));
    await tick(inbox, 'sent').waitFor();
    await phone.getByText('Yes, on <b>Fridays</b>.').waitFor();
    await advance(300);
    await tick(inbox, 'delivered').waitFor();
    await KEYBOARD.press(button(phone, 'Read 1'));
    await tick(inbox, 'read').waitFor();
    await KEYBOARD.press(button(inbox, 'Mark as read'));
    await inbox.getByText('1 marked').waitFor();
    await tick(phone, 'read').waitFor();
    expect([complaints, complaintsOfInbox]).toEqual([[], []]);
  });

  it('a key loses a scope, and its next call shows the check that refused it', async () => {
    const { workspaceId, baseUrl } = test.loop.info();
    const { id, key } = await test.sandbox<{ id: string; key: string }>(
      'POST',
      `/workspaces/${workspaceId}/api-keys`,
      {},
    );
    const { page, complaints } = await open('/access');
    await KEYBOARD.press(page.getByRole('link', { name: id }));
    await page.getByRole('heading', { name: id }).waitFor();
    await tabTo(page.getByLabel('messaging.read'));
    await page.keyboard.press('Space');
    await KEYBOARD.press(page.getByRole('button', { name: 'Save' }));
    await page.getByText('Takes effect on the next call.').waitFor();
    await expect(createCaller(baseUrl, key)('GET', '/connections')).rejects.toThrow('answered 403');
    await KEYBOARD.press(page.getByRole('link', { name: 'Calls of this key' }));
    await KEYBOARD.press(page.getByRole('link', { name: /403.*insufficient_scope/ }));
    await page.getByRole('heading', { name: 'Refused by the check scope' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('an outage is caused, found as time moves on, and healed', async () => {
    const { connection } = await test.sandbox<{ connection: { id: string } }>(
      'POST',
      `/workspaces/${test.loop.info().workspaceId}/connections`,
      { provider: 'qr', phoneNumber: '447700900170', label: 'Outage' },
    );
    const { page, complaints } = await open(`/connections/${connection.id}`);
    await KEYBOARD.press(page.getByRole('button', { name: 'Cause an outage' }));
    await KEYBOARD.press(page.getByRole('button', { name: 'Zombie session' }));
    await page.getByText('Outage: zombie session.').waitFor();
    await KEYBOARD.press(page.getByRole('button', { name: 'Move the time to then' }));
    await page.getByText('The service has found it').waitFor();
    await KEYBOARD.press(page.getByRole('button', { name: 'Heal' }));
    await page.getByRole('region', { name: 'Transitions' }).getByText('Recovered').waitFor();
    expect(complaints).toEqual([]);
  });
});

describe('in the sandbox', () => {
  it('the run is saved as a scenario', async () => {
    const id = await test.client.write(await test.client.qrConnection(), 'To be repeated');
    const { page, complaints } = await open('/deliveries');
    await page.keyboard.press('t');
    const saving = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Save a scenario' }).click();
    const saved = await saving;
    expect(saved.suggestedFilename()).toBe('scenario.jsonl');
    const { causes, names } = readScenario(readFileSync(await saved.path(), 'utf8'));
    expect(causes.at(-1)?.body).toMatchObject({ text: 'To be repeated' });
    expect(JSON.stringify([causes, names])).not.toContain(id);
    expect(complaints).toEqual([]);
  });

  it('every tab is live over one stream, and continues when the first is closed', async () => {
    const first = await open('/deliveries');
    const others: Page[] = [];
    while (others.length < 7) {
      const page = await first.page.context().newPage();
      await page.goto(url('/deliveries'));
      await page.getByText('live', { exact: true }).waitFor();
      others.push(page);
    }
    await test.client.write(await test.client.qrConnection(), 'To all tabs');
    for (const page of [first.page, ...others]) await page.getByText('To all tabs').first().waitFor();
    await first.page.close();
    await test.client.write(await test.client.qrConnection(), 'To those that stay');
    for (const page of others) await page.getByText('To those that stay').first().waitFor();
  });

  it('a long chat begins at its end, draws what is in view, and reads older messages as it is scrolled', async () => {
    const desk = await test.client.qrConnection();
    const say = (text: string, times = 1) =>
      test.sandbox('POST', '/contacts/447700900235/messages', { connectionId: desk, text, times });
    await say('Message 1 of many');
    await say('Message between', 118);
    await say('Message 120 of many');
    const { page } = await open(`/inbox/${desk}~447700900235`);
    await page.getByText('Message 120 of many').last().waitFor();
    const drawn = () => page.getByRole('log').locator('li').count();
    expect(await drawn()).toBeLessThan(40);
    const first = page.getByText('Message 1 of many', { exact: true });
    const toTop = async () => {
      // To the top and slightly down again: scrolling to the same position does nothing.
      await page
        .getByRole('log')
        .evaluate((log) => void Object.assign(log, { scrollTop: log.scrollTop === 0 ? 20 : 0 }));
      return await first.count();
    };
    await expect.poll(toTop, { interval: 2_000, timeout: 60_000 }).toBe(1);
    expect(await drawn()).toBeLessThan(40);
  });

  it('a part of the page that cannot be loaded says so in its place, and is loaded when the server is back', async () => {
    const { page } = await openPage('about:blank');
    // The page starts with this answer, and then loads the part.
    const start = url('/console.json');
    let isDown = false;
    await page.route('**/*', async (route) => {
      if (isDown) return await route.abort();
      isDown = route.request().url() === start;
      await route.continue();
    });
    await page.goto(url('/calls'));
    const failed = page.getByRole('heading', { name: 'This part of the page cannot be loaded' });
    await failed.waitFor();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'The server does not respond' }).waitFor();
    await failed.waitFor();
    await page.unrouteAll();
    await page.getByRole('region', { name: 'Calls' }).waitFor();
    await moveTo(page, '/nope');
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    expect((await page.goto(url('/nope')))?.status()).toBe(404);
  });
});
