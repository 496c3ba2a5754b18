import { describe, expect, it } from 'vitest';
import { expectAccessible, moveTo, openPage } from '../support/chromium.ts';
import { callJson } from '../support/loop-client.ts';
import { loopOfFile } from '../support/loop-of-file.ts';

const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>';

const test = loopOfFile();
const url = (path: string): string => `${test.loop.info().sandboxUrl}${path}`;

describe('Calls', () => {
  it('shows live which check refused a call, by keyboard alone', async () => {
    const { baseUrl } = test.loop.info();
    const { page, complaints } = await openPage(url('/calls?q=status:4*'));
    await page.getByText('No call matches').waitFor();
    await expect(callJson(`${baseUrl}/account`, { token: 'nonsense' })).rejects.toThrow('answered 401');
    await page.getByRole('link', { name: /401 GET \/account invalid_key none/ }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Refused by the check credential' }).waitFor();
    await page.getByRole('figure', { name: 'Response body' }).getByText('"error": "invalid_key"').waitFor();
    await expectAccessible(page);
    expect(complaints).toEqual([]);

    await page.keyboard.press('g');
    await page.keyboard.press('d');
    await page.waitForURL('**/deliveries');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  it('keeps a number in the URL as text', async () => {
    const { page, complaints } = await openPage(url('/calls?q=401'));
    await page.getByRole('combobox', { name: 'Filter' }).waitFor({ timeout: 5_000 });
    expect(await page.getByRole('combobox', { name: 'Filter' }).inputValue()).toBe('401');
    expect(complaints).toEqual([]);
  });
});

/** A message whose webhook was lost; the connector does not know it. */
async function loseWebhook(text: string): Promise<string> {
  // The poll at startup would find the message.
  await test.loop.settle();
  await test.client.dropWebhooks();
  const id = await test.client.write(await test.client.qrConnection(), text);
  await test.loop.settle();
  await test.client.clearFaults();
  return id;
}

describe('Journey', () => {
  it('shows live that a dropped webhook was repaired by polling', async () => {
    const id = await loseWebhook(HOSTILE);
    const { page, complaints } = await openPage(url(`/deliveries?q=message:${id}`));
    await page.getByRole('link', { name: /dropped message\.received/ }).hover();
    await page.getByRole('link', { name: 'Journey', exact: true }).nth(1).click();
    await page.waitForURL(`**/journey/${id}`);
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
    await page.getByText('message.received: dropped after 3 attempts').click();
    expect(await page.getByText('dropped by the fault lost').count()).toBe(3);
    await page.getByRole('link', { name: 'Show the delivery' }).click();
    await page.waitForURL('**/deliveries/*');
    // The browser logs that the connector did not know the message at first.
    expect(complaints.filter((each) => !each.includes('404 (Not Found)'))).toEqual([]);
  });

  it('is found by the id of a message, by keyboard alone', async () => {
    const id = await loseWebhook('By keyboard');
    await test.client.sync();
    const { page, complaints } = await openPage(url('/deliveries'));
    await page.getByText('live', { exact: true }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('j');
    await page.getByLabel('Id of the message').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.insertText(` ${id} `);
    await page.keyboard.press('Enter');
    await page.getByText('Its webhook was dropped. Polling repaired it.').waitFor();
    for (const key of ['j', 'j', 'j', 'Enter', 'Tab']) await page.keyboard.press(key);
    expect(await page.locator(':focus').innerText()).toBe('Show the delivery');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'message.received' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('says what to do about an unknown id', async () => {
    const { page } = await openPage(url('/journey/nobody'));
    await page.getByText('Nothing is known about this message').waitFor();
    await page.getByRole('link', { name: 'Follow another message' }).click();
    await page.getByLabel('Id of the message').waitFor();
  });

  it('is accessible', async () => {
    const id = await test.client.write(await test.client.qrConnection(), HOSTILE);
    await test.loop.settle();
    const { page, complaints } = await openPage(url('/journey'));
    await page.getByText(HOSTILE).first().waitFor();
    await expectAccessible(page);
    await moveTo(page, `/journey/${id}`);
    await page.getByText('A webhook reported it first.').waitFor();
    for (const line of await page.locator('.journey-step > summary').all()) await line.click();
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });
});
