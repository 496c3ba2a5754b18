import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { expectAccessible, moveTo, openPage } from '../support/chromium.ts';
import { KEYBOARD, tabTo } from '../support/keyboard.ts';
import { loopOfFile } from '../support/loop-of-file.ts';

const test = loopOfFile();
const url = (path: string): string => `${test.loop.info().sandboxUrl}${path}`;

/** A number of the test's own, paired without the page. */
async function pair(phoneNumber: string, label: string): Promise<string> {
  const path = `/workspaces/${test.loop.info().workspaceId}/connections`;
  const body = { provider: 'qr', phoneNumber, label };
  return (await test.sandbox<{ connection: { id: string } }>('POST', path, body)).connection.id;
}

async function create(label: string): Promise<string> {
  return (await test.service<{ connection: { id: string } }>('POST', '/connections', { label })).connection
    .id;
}

const row = (page: Page, text: string | RegExp) =>
  page.getByRole('region', { name: 'Connections' }).getByRole('link').filter({ hasText: text });
const transitions = (page: Page) =>
  page.getByRole('region', { name: 'Transitions' }).getByRole('listitem').allInnerTexts();

it('lists the newest first, even after the screen Phone, which lists the oldest first', async () => {
  const { page } = await openPage(url('/phone'));
  await page.getByRole('link', { name: 'Front desk' }).waitFor();
  await create('The newest');
  await page.getByRole('link', { name: 'Connections', exact: true }).first().click();
  // The list of the screen Phone has the same name.
  await page.getByRole('button', { name: 'New connection' }).waitFor();
  await row(page, 'The newest').waitFor();
  expect(await row(page, /./).first().innerText()).toContain('The newest');
});

describe('creating a connection', () => {
  it('works by keyboard alone, with a QR code or a pairing code, and shows errors at their fields', async () => {
    const { page } = await openPage(url('/connections'));
    await row(page, 'Front desk').waitFor();
    await page.keyboard.press('c');
    await page.keyboard.press('Escape');
    await expect.poll(() => page.locator(':focus').innerText()).toBe('New connection');
    await page.keyboard.press('Enter');
    await page.keyboard.insertText('x'.repeat(256));
    await page.keyboard.press('Enter');
    await page.getByLabel('Label').and(page.locator('[aria-invalid=true]')).waitFor();
    await page.getByRole('alert').getByText('255').waitFor();
    await KEYBOARD.write(page.getByLabel('Label'), 'Warehouse');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/connections/c*');
    await row(page, 'Warehouse').getByText('connecting').waitFor();
    const qr = await page.getByAltText('QR code for pairing').getAttribute('src');

    await tabTo(page.getByRole('button', { name: 'Show next code' }));
    await page.keyboard.press('Tab');
    await page.keyboard.insertText('+44 7700');
    await page.keyboard.press('Enter');
    await page.getByText('Enter international digits without a plus sign.').waitFor();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.insertText('447700900161');
    await page.keyboard.press('Enter');
    await page.getByText(/^Type [0-9A-Z]{4}-[0-9A-Z]{4} into the phone\.$/).waitFor();

    const id = new URL(page.url()).pathname.split('/').at(-1);
    await test.sandbox('POST', `/connections/${id}/scan`, { qr, phoneNumber: '447700900160' });
    await row(page, 'Warehouse').getByText('connected').waitFor();
    await row(page, '447700900160').waitFor();
    await page.getByRole('region', { name: 'Warm-up' }).getByText('0 of 30 messages').waitFor();
    expect(await page.getByAltText('QR code for pairing').count()).toBe(0);
  });
});

describe('an outage', () => {
  it('is caused, detected by the probe and healed, and shows each transition with its cause', async () => {
    const id = await pair('447700900170', 'Outage');
    const { page, complaints } = await openPage(url(`/connections/${id}`));
    await page.getByRole('button', { name: 'Cause an outage' }).click();
    await page.getByRole('button', { name: 'Session lost' }).click();
    await page.getByText('Outage: session lost. The service still shows the connection').waitFor();
    await row(page, 'Outage').getByText('broken').waitFor();

    await page.getByRole('button', { name: 'Move the time to then' }).click();
    await row(page, 'Outage').getByText('reconnect').waitFor();
    await expect.poll(() => transitions(page)).toHaveLength(3);
    expect((await transitions(page))[0]).toMatch(
      /connected → disconnected\s+The status probe found an outage \(AUTH_LOST\), reported by connection\.disconnected/,
    );

    await page.getByRole('button', { name: 'Heal' }).click();
    await row(page, 'Outage').getByText('connected').waitFor();
    await expect.poll(() => transitions(page)).toHaveLength(4);
    expect((await transitions(page))[0]).toMatch(
      /disconnected → connected\s+Recovered, reported by connection\.connected/,
    );
    expect(complaints).toEqual([]);
  });

  it('is caused and healed by keyboard alone', async () => {
    await pair('447700900171', 'Keyboard outage');
    const { page } = await openPage(url('/connections?q=phone:447700900171'));
    await row(page, 'Keyboard outage').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Keyboard outage' }).waitFor();
    await KEYBOARD.press(page.getByRole('button', { name: 'Cause an outage' }));
    await KEYBOARD.press(page.getByRole('button', { name: 'Zombie session' }));
    await page.getByText('Outage: zombie session.').waitFor();
    await KEYBOARD.press(page.getByRole('button', { name: 'Move the time to then' }));
    await page.getByText('The service has found it').waitFor();
    await KEYBOARD.press(page.getByRole('button', { name: 'Heal' }));
    await row(page, 'Keyboard outage').getByText('connected').waitFor();
    await KEYBOARD.press(page.locator('summary', { hasText: 'What the states mean' }));
    const states = page.getByRole('list', { name: 'States' }).getByRole('listitem');
    expect(await states.allInnerTexts()).toEqual([
      expect.stringMatching(/^connecting: /),
      expect.stringMatching(/^connected \(now\): /),
      expect.stringMatching(/^disconnected: /),
      expect.stringMatching(/^logged out: /),
      expect.stringMatching(/^removed: /),
    ]);
  });
});

describe('a connection', () => {
  it('is logged out, restarted and, after a confirmation, deleted, by keyboard alone', async () => {
    const id = await pair('447700900172', 'Short-lived');
    const { page } = await openPage(url(`/connections/${id}`));
    await KEYBOARD.press(page.getByRole('button', { name: 'Log out' }));
    await page.locator('.state-node[data-current=true]').getByText('logged out').waitFor();
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await page.locator('.state-node[data-current=true]').getByText('connecting').waitFor();

    await KEYBOARD.press(page.getByRole('button', { name: 'Delete' }));
    await page.getByText('Delete “Short-lived”? This cannot be undone').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/connections');
    await row(page, 'Short-lived').waitFor({ state: 'detached' });
  });

  it('offers no other action while one runs, and keeps a question open until then', async () => {
    const id = await pair('447700900174', 'Busy');
    const { page } = await openPage(url(`/connections/${id}`));
    const restarting = Promise.withResolvers<void>();
    await page.route('**/restart', async (route) => {
      await restarting.promise;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Restart' }).click();
    await expect.poll(() => page.getByRole('button', { name: 'Log out' }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Delete' }).click();
    const confirm = page.locator('.confirm').getByRole('button', { name: 'Delete' });
    await confirm.click({ force: true });
    expect(await confirm.isVisible()).toBe(true);
    restarting.resolve();
    await confirm.click();
    await row(page, 'Busy').waitFor({ state: 'detached' });
  });

  it('loses its license when time is moved to its end, after a preview, by keyboard alone', async () => {
    const id = await create('On trial');
    await test.sandbox('POST', `/connections/${id}/scan`, { phoneNumber: '447700900173' });
    const { page } = await openPage(url(`/connections/${id}`));
    const license = page.getByRole('region', { name: 'License' });
    await license.getByText('trial 6 d 23 h').waitFor();
    await KEYBOARD.press(license.getByRole('button', { name: 'Let it end …' }));
    await license.getByText(/^Moving virtual time to .* concerns everything in the sandbox:$/).waitFor();
    await license.getByText('The license of +447700900173 ends').waitFor();
    await KEYBOARD.press(license.getByRole('button', { name: 'Move the time' }));
    await license.getByText('expired').waitFor();
    await row(page, 'On trial').getByText('expired').waitFor();
    await expect.poll(() => page.locator(':focus').getAttribute('aria-label')).toBe('License');
    await KEYBOARD.press(license.getByRole('button', { name: 'Renew' }));
    await license.getByText('active').waitFor();
  });

  it('is accessible', async () => {
    const { page } = await openPage(url('/connections?q=nothing'));
    await page.getByText('No connection matches').waitFor();
    await page.getByRole('button', { name: 'New connection' }).click();
    await expectAccessible(page);
    await moveTo(page, '/connections');
    await row(page, 'Front desk').waitFor();
    await expectAccessible(page);
    await row(page, 'Front desk').click();
    await page.getByRole('heading', { name: 'Front desk' }).waitFor();
    await page.getByText('What the states mean').click();
    await expectAccessible(page);
  });
});
