import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { expectAccessible, openPage } from '../support/chromium.ts';
import { loopOfFile } from '../support/loop-of-file.ts';

const test = loopOfFile();
const url = (path: string): string => `${test.loop.info().sandboxUrl}${path}`;

describe('Deliveries', () => {
  it('shows an event live; it is opened, resent with r, and closed with Esc, by keyboard alone', async () => {
    const { page, complaints } = await openPage(url('/deliveries'));
    await page.getByText('live', { exact: true }).waitFor();
    await test.client.write(await test.client.qrConnection(), '<b>Hello</b> from a contact');
    await page
      .getByRole('link', { name: /delivered message\.received.*<b>Hello<\/b> from a contact/ })
      .waitFor();

    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'message.received' }).waitFor();
    await page.getByText('1 attempt', { exact: false }).waitFor();
    await page.keyboard.press('r');
    await page.getByRole('button', { name: 'Resend now' }).waitFor();
    await page.getByText('· 1 attempt').waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('· 2 attempts').waitFor();

    await page.keyboard.press('Escape');
    await page.waitForURL('**/deliveries');
    await expect.poll(() => page.locator(':focus').getAttribute('class')).toBe('row');
    expect(complaints).toEqual([]);
  });

  it('shows what the receiver answered to an attempt that failed', async () => {
    const id = await test.client.write(await test.client.qrConnection(), 'Hello');
    const { page, complaints } = await openPage(url(`/deliveries?q=message:${id}`));
    await page.getByRole('link', { name: /delivered message\.received/ }).click();
    await page.getByRole('button', { name: 'Resend as …' }).click();
    await page.getByRole('button', { name: 'Tamper with the signature' }).click();
    await page.getByText('· 2 attempts').waitFor();
    const attempts = page.getByRole('region', { name: 'Attempts' });
    await attempts.getByText('content-type').last().waitFor();
    await attempts.getByRole('figure', { name: 'Response body' }).getByText('"error"').waitFor();
    expect(complaints).toEqual([]);
  });

  it('edits a copy and sends it with a new signature and a mark, by keyboard alone', async () => {
    const id = await test.client.write(await test.client.qrConnection(), 'The original');
    const { page, complaints } = await openPage(url(`/deliveries?q=message:${id}`));
    await page.getByRole('link', { name: /message\.received/ }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Edit and send' }).waitFor();
    await page.keyboard.press('e');
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.insertText('{"event":"message.received","changed":true}');
    await page.keyboard.press('ControlOrMeta+Enter');
    await page.getByText(/^copy of \d+$/).waitFor();
    await page.getByText('"changed": true').waitFor();
    expect(complaints).toEqual([]);
  });

  it('explains a signature that a server computed without the secret, by keyboard alone', async () => {
    const id = await test.client.write(await test.client.qrConnection(), '<i>Signed</i>');
    const { page, complaints } = await openPage(url(`/deliveries?q=message:${id}`));
    await page.getByRole('link', { name: /delivered message\.received/ }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    const panel = page.getByRole('region', { name: 'Signature' });
    await panel.getByRole('figure', { name: 'Base string' }).getByText('<i>Signed</i>').waitFor();
    const base = (await panel.getByRole('figure', { name: 'Base string' }).textContent()) ?? '';
    const hex = createHash('sha256').update(base).digest('hex');

    await page.keyboard.press('s');
    await page.keyboard.insertText(`sha256=${hex}`);
    await page.keyboard.press('Enter');
    const result = panel.getByRole('status').filter({ hasText: 'differs' });
    await result.getByText('A plain hash was computed, without the secret.').waitFor();
    await result.getByText('secret missing', { exact: true }).waitFor();
    const marked = await result.locator('mark').allTextContents();
    const sent = (await panel.locator('p.mono').textContent()) ?? '';
    const place = [...sent].findIndex((character, index) => character !== `sha256=${hex}`[index]);
    expect(marked).toEqual([sent[place], `sha256=${hex}`[place]]);
    await result.getByText(`They differ from character ${place + 1} on.`).waitFor();
    expect(complaints).toEqual([]);
  });

  it('compares the body that a server used, with the mouse, and rejects a malformed signature', async () => {
    const id = await test.client.write(await test.client.qrConnection(), 'Compared');
    const { page, complaints } = await openPage(url(`/deliveries?q=message:${id}`));
    await page.getByRole('link', { name: /delivered message\.received/ }).click();
    const form = page.getByRole('form', { name: 'Explain a signature' });
    await form.getByRole('textbox', { name: 'Signature that' }).fill('<script>alert(1)</script>');
    await form.getByText('Timestamp and body that your server used').click();
    await form.getByRole('textbox', { name: 'Body, as text' }).fill('{"event": "message.received"}');
    await form.getByRole('button', { name: 'Explain' }).click();
    await form
      .getByText('This is not a signature of HMAC-SHA256: expected `sha256=` and 64 hex digits.')
      .waitFor();
    await form.getByText('The bodies differ from byte 10 on:').waitFor();
    expect(await form.locator('mark').allTextContents()).toEqual(['s', '<']);
    await expectAccessible(page);

    const sent =
      (await page.getByRole('region', { name: 'Signature' }).locator('p.mono').textContent()) ?? '';
    await form
      .getByRole('textbox', { name: 'Signature that' })
      .fill(sent.toUpperCase().replace('SHA256', 'sha256'));
    await form.getByRole('button', { name: 'Explain' }).click();
    await form.getByText('uppercase hex', { exact: true }).waitFor();
    await form.getByText('matches', { exact: true }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('shows what is wrong with a filter, as the server reports it', async () => {
    const { page } = await openPage(url('/deliveries'));
    await page.getByText('live', { exact: true }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.insertText('colour:red');
    await page.keyboard.press('Enter');
    await page
      .getByText(/`colour:red` has an unknown key; the keys are status, type/)
      .first()
      .waitFor();
    expect(new URL(page.url()).searchParams.get('q')).toBe('colour:red');
  });

  it('is live in every tab over one stream, and continues when the first tab is closed', async () => {
    const first = await openPage(url('/deliveries'));
    await first.page.getByText('live', { exact: true }).waitFor();
    const others = await Promise.all(
      Array.from({ length: 7 }, async () => {
        const page = await first.page.context().newPage();
        await page.goto(url('/deliveries'));
        await page.getByText('live', { exact: true }).waitFor();
        return page;
      }),
    );
    await test.client.write(await test.client.qrConnection(), 'To all tabs');
    for (const page of [first.page, ...others]) await page.getByText('To all tabs').first().waitFor();
    await first.page.close();
    await test.client.write(await test.client.qrConnection(), 'To those that stay');
    for (const page of others) await page.getByText('To those that stay').first().waitFor();
  });

  it('is accessible', async () => {
    await test.client.write(await test.client.qrConnection(), 'Hello');
    const { page } = await openPage(url('/deliveries'));
    const row = page.getByRole('link', { name: /message\.received/ }).first();
    await row.waitFor();
    await expectAccessible(page);
    await row.click();
    await page.getByRole('heading', { name: 'message.received' }).waitFor();
    await expectAccessible(page);
  });
});
