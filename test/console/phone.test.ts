import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectAccessible, moveTo, openPage, watchPage } from '../support/chromium.ts';
import { KEYBOARD } from '../support/keyboard.ts';
import { loopOfFile } from '../support/loop-of-file.ts';

const test = loopOfFile();
let desk: string;
const url = (path: string): string => `${test.loop.info().sandboxUrl}${path}`;
const advance = (ms: number) => test.sandbox('POST', '/clock/advance', { ms });
/** A refusal by the server is no error of the page. */
const REFUSED = /the server responded with a status of 4\d\d/;

/** A connection that waits for its owner's phone. */
async function create(label: string): Promise<string> {
  const { connection } = await test.service<{ connection: { id: string } }>('POST', '/connections', {
    label,
  });
  return connection.id;
}

const code = (page: Page) => page.getByRole('textbox', { name: 'Pairing code' });
const answer = (page: Page, contact: string) => page.getByRole('textbox', { name: `Answer to +${contact}` });
const tick = (page: Page, status: string) => page.getByRole('log').getByRole('img', { name: status });
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

beforeAll(async () => {
  await test.sandbox('POST', '/clock/freeze');
  desk = await test.client.qrConnection();
});

describe('Phone', () => {
  it('scans a QR code, and shows why an old one is refused, by keyboard alone', async () => {
    const id = await create('QR');
    const { page, complaints } = await openPage(url(`/phone/${id}`));
    await page.getByText('valid for 20 s').waitFor();
    await advance(20_000);
    await page.getByText('too old').waitFor();
    await KEYBOARD.press(button(page, 'Scan it anyway'));
    await page.getByRole('alert').getByText('The QR code has expired').waitFor();
    expect(await page.getByRole('alert').textContent()).toContain('409 qr_expired');

    await KEYBOARD.press(button(page, 'Show next code'));
    await page.getByText('valid for 20 s').waitFor();
    const number = '447700900161';
    await KEYBOARD.write(page.getByLabel('Number of this phone'), number);
    await page.setViewportSize({ width: 390, height: 800 });
    const scan = await button(page, 'Scan').boundingBox();
    expect([(scan?.x ?? 390) + (scan?.width ?? 0) < 390, (scan?.height ?? 0) < 40]).toEqual([true, true]);
    await KEYBOARD.press(button(page, 'Scan'));
    await page
      .getByRole('region', { name: `+${number}` })
      .getByText('No chats yet')
      .waitFor();
    expect(complaints.filter((each) => !REFUSED.test(each))).toEqual([]);
  });

  it('types a pairing code, by keyboard alone', async () => {
    const id = await create('Code');
    const { page, complaints } = await openPage(url(`/phone/${id}`));
    const number = '447700900163';
    await KEYBOARD.write(code(page), 'AAAA-AAAA');
    await KEYBOARD.press(button(page, 'Link with code'));
    await page.getByText('409 code_expired').waitFor();
    await KEYBOARD.press(page.getByRole('link', { name: 'the connection' }));
    await KEYBOARD.write(page.getByLabel('Phone number for a pairing code'), number);
    await KEYBOARD.press(button(page, 'Request'));
    const shown = await page.getByText(/^[0-9A-Z]{4}-[0-9A-Z]{4}$/).textContent();
    await page.goBack();
    await KEYBOARD.write(code(page), shown ?? '');
    await KEYBOARD.press(button(page, 'Link with code'));
    await page
      .getByRole('region', { name: `+${number}` })
      .getByText('No chats yet')
      .waitFor();
    expect(complaints.filter((each) => !REFUSED.test(each))).toEqual([]);
  });

  it('reads the QR code from a selected or dropped screenshot, and explains unusable files', async () => {
    const id = await create('Screenshot');
    const { page } = await openPage(url(`/phone/${id}`));
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
  });

  it('is switched off, and receives what was sent meanwhile when it is on again, by keyboard alone', async () => {
    const id = await test.client.qrConnection();
    const { page } = await openPage(url(`/phone/${id}`));
    await KEYBOARD.press(button(page, 'Switch off'));
    await page.getByText('This phone is off').waitFor();

    await moveTo(page, `/phone/447700900206?list=contacts&with=${id}`);
    await KEYBOARD.write(page.getByLabel(/^Message to Front desk/).last(), 'Is anybody there?');
    await KEYBOARD.press(button(page, 'Send'));
    await page.getByText('Not delivered yet.', { exact: false }).waitFor();
    await page.getByRole('link', { name: /^\+447700900206/ }).waitFor();

    await moveTo(page, `/phone/${id}`);
    await KEYBOARD.press(button(page, 'Switch on'));
    await button(page, 'Switch off').waitFor();
    await advance(2_000);
    await page.getByRole('link', { name: /447700900206.*Is anybody there\?/ }).waitFor();
  });

  it('blocks a contact, whose messages then never arrive, by keyboard alone', async () => {
    const id = await test.client.qrConnection();
    const write = (text: string) =>
      test.sandbox('POST', '/contacts/447700900207/messages', { connectionId: id, text });
    await write('Before');
    const { page } = await openPage(url(`/phone/${id}?with=447700900207`));
    await KEYBOARD.press(button(page, 'Block'));
    await page.getByText('This contact is blocked').waitFor();
    await write('While blocked');
    await KEYBOARD.press(button(page, 'Unblock'));
    await button(page, 'Block').waitFor();
    await write('After');
    await page.getByText('After', { exact: true }).waitFor();
    expect(await page.getByRole('log').locator('li').allTextContents()).toEqual([
      expect.stringContaining('Before'),
      expect.stringContaining('After'),
    ]);
  });

  it('exchanges messages with an agent, who answers live in the inbox; ticks advance to read on both sides, by keyboard alone', async () => {
    const contact = '447700900232';
    await test.sandbox('PUT', `/contacts/${contact}`, { deliverAfterMs: 300, readAfterMs: null });
    const { page: phone, complaints } = await openPage(url(`/phone/${contact}?list=contacts&with=${desk}`));
    const inbox = await phone.context().newPage();
    const complaintsOfInbox = watchPage(inbox);
    await inbox.goto(url('/inbox'));
    await inbox.getByText('live', { exact: true }).waitFor();

    await KEYBOARD.write(phone.getByRole('textbox', { name: /^Message to Front desk/ }), 'Do you deliver?');
    await KEYBOARD.press(button(phone, 'Send'));
    await KEYBOARD.press(inbox.getByRole('link', { name: new RegExp(`${contact}.*Do you deliver\\?`) }));
    await KEYBOARD.write(answer(inbox, contact), 'Yes, on <b>Fridays</b>.');
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

  it('is accessible', async () => {
    const id = await test.client.qrConnection();
    await test.sandbox('POST', '/contacts/447700900201/messages', { connectionId: id, text: 'Hello' });
    const unpaired = await create('Look');
    const { page } = await openPage(url('/phone?q=phone:1'));
    await page.getByText('No phone matches').waitFor();
    await expectAccessible(page);
    for (const [path, text] of [
      [`/phone/${unpaired}`, 'valid for 20 s'],
      [`/phone/${id}?with=447700900201`, 'The agent answers in the'],
      ['/phone/447700900201?list=contacts', 'Hello'],
      [`/phone/447700900201?list=contacts&with=${id}`, 'Attach'],
    ] as const) {
      await moveTo(page, path);
      await page.getByText(text).first().waitFor();
      await expectAccessible(page);
    }
  });
});
