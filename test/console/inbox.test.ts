import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectAccessible, moveTo, openPage } from '../support/chromium.ts';
import { loopOfFile } from '../support/loop-of-file.ts';

const test = loopOfFile();
let desk: string;
const url = (path: string): string => `${test.loop.info().sandboxUrl}${path}`;
const advance = (ms: number) => test.sandbox('POST', '/clock/advance', { ms });
const say = async (contact: string, text: string, times = 1): Promise<string> => {
  const path = `/contacts/${contact}/messages`;
  const body = { connectionId: desk, text, times };
  return (await test.sandbox<{ messageId: string }>('POST', path, body)).messageId;
};
const answer = (page: Page, contact: string) => page.getByRole('textbox', { name: `Answer to +${contact}` });
const tick = (page: Page, status: string) => page.getByRole('log').getByRole('img', { name: status });
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

beforeAll(async () => {
  await test.sandbox('POST', '/clock/freeze');
  desk = await test.client.qrConnection();
  // The poll at startup may find a message before its webhook.
  await test.loop.settle();
});

describe('Inbox', () => {
  it('shows whether webhook or poll was first, and links to the journey and the deliveries', async () => {
    const seen = await say('447700900233', 'Over the webhook');
    const { page } = await openPage(url(`/inbox/${desk}~447700900233`));
    await page.getByText('webhook', { exact: true }).waitFor();
    const link = (name: string) => page.getByRole('log').getByRole('link', { name });
    await link('Journey').click();
    await page.waitForURL(`**/journey/${seen}`);
    await page.goBack();
    await link('Deliveries').click();
    await page.waitForURL(`**/deliveries?q=message%3A${seen}`);
    await page.getByRole('link', { name: /message\.received.*Over the webhook/ }).waitFor();

    await test.client.dropWebhooks();
    await say('447700900234', 'Its webhook was lost');
    await test.client.sync();
    await moveTo(page, `/inbox/${desk}~`);
    await page.getByRole('log').getByText('Its webhook was lost').waitFor();
    await page.getByText('poll', { exact: true }).waitFor();
    await page.getByText('whose list does not name the contact').waitFor();
    expect(await page.getByRole('textbox', { name: /^Answer/ }).count()).toBe(0);
    await test.client.clearFaults();
  });

  it('shows what is certain about a send, and what to do about it', async () => {
    const { page } = await openPage(url('/inbox?peer=447700900205'));
    await page.getByRole('link', { name: 'Front desk' }).click();
    await answer(page, '447700900205').fill('Hello');
    await answer(page, '447700900205').press('Enter');
    await page.getByText('Certain: nothing was sent.').waitFor();
    await page.getByText('recipient_not_on_whatsapp').waitFor();
    await page.getByText('The number has no account on the network. Check it.').waitFor();
    expect(await button(page, 'Retry').count()).toBe(1);

    await test.sandbox('PUT', '/faults', {
      rules: [
        {
          id: 'full',
          match: { surface: 'api', method: 'POST', path: '/messages' },
          action: { type: 'status', code: 429, error: 'warmup_limited', retryAfter: 600 },
        },
      ],
    });
    await moveTo(page, `/inbox/${desk}~447700900201`);
    await answer(page, '447700900201').fill('Wait for it');
    await answer(page, '447700900201').press('Enter');
    await page.getByText('Next attempt in').waitFor();
    await button(page, 'Cancel').click();
    await page.getByText('It was cancelled before it was sent.').waitFor();
    await test.client.clearFaults();

    await answer(page, '447700900204').waitFor({ state: 'detached' });
    await moveTo(page, `/inbox/${desk}~447700900204`);
    await answer(page, '447700900204').fill('To a phone that fails');
    await answer(page, '447700900204').press('Enter');
    await tick(page, 'sent').waitFor();
    await advance(2_000);
    await tick(page, 'failed').waitFor();
    await page.getByText('Writing it again sends a new message.').waitFor();
  });

  it('loads older messages from the server, and renders only those in view', async () => {
    await test.sandbox('POST', '/clock/run');
    await say('447700900235', 'Message 1 of many');
    await say('447700900235', 'Message between', 118);
    await say('447700900235', 'Message 120 of many');
    await test.sandbox('POST', '/clock/freeze');
    const { page } = await openPage(url(`/inbox/${desk}~447700900235`));
    await page.getByText('Message 120 of many').last().waitFor();
    const drawn = () => page.getByRole('log').locator('li').count();
    expect(await drawn()).toBeLessThan(40);
    const first = page.getByText('Message 1 of many', { exact: true });
    await expect
      .poll(
        async () => {
          // To the top and slightly down again: scrolling to the same position does nothing.
          await page
            .getByRole('log')
            .evaluate((log) => void Object.assign(log, { scrollTop: log.scrollTop === 0 ? 20 : 0 }));
          return await first.count();
        },
        { interval: 2_000, timeout: 60_000 },
      )
      .toBe(1);
    expect(await drawn()).toBeLessThan(40);
  });

  it('is accessible', async () => {
    await say('447700900237', 'Hello');
    const { page } = await openPage(url('/inbox?peer=447700900299'));
    await page.getByText('No messages with +447700900299 yet').waitFor();
    await expectAccessible(page);
    await moveTo(page, '/inbox');
    await page.getByText('Hello').first().waitFor();
    await expectAccessible(page);
    await moveTo(page, `/inbox/${desk}~447700900237`);
    await page.getByRole('log').getByText('Hello').last().waitFor();
    await expectAccessible(page);
  });
});
