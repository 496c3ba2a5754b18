import { beforeAll, describe, expect, it } from 'vitest';
import { expectAccessible, openPage } from '../support/chromium.ts';
import { KEYBOARD, tabTo } from '../support/keyboard.ts';
import { loopOfFile } from '../support/loop-of-file.ts';
import { createCaller } from '../support/read-lists.ts';

const test = loopOfFile();
const url = (path: string): string => `${test.loop.info().sandboxUrl}${path}`;

beforeAll(async () => {
  await test.sandbox('POST', '/oauth-apps', {
    name: '<img src=x onerror=alert(1)>',
    redirectUris: ['http://127.0.0.1:3000/callback'],
    scopes: ['messaging.read', 'messaging.send'],
  });
});

/** A key with all scopes, in the initial workspace. */
async function createKey(): Promise<{ readonly id: string; readonly key: string }> {
  const { workspaceId } = test.loop.info();
  return await test.sandbox<{ id: string; key: string }>('POST', `/workspaces/${workspaceId}/api-keys`, {});
}

/** Lists connections with a key; throws an error with the status if refused. */
const listWith = (key: string): Promise<unknown> =>
  createCaller(test.loop.info().baseUrl, key)('GET', '/connections');

describe('Access', () => {
  it('reduces the scopes of a key, whose next call then shows the check that refused it, by keyboard alone', async () => {
    const { id, key } = await createKey();
    await listWith(key);
    const { page, complaints } = await openPage(url('/access'));
    await KEYBOARD.press(page.getByRole('link', { name: id }));
    await page.getByRole('heading', { name: id }).waitFor();
    await tabTo(page.getByLabel('messaging.read'));
    await page.keyboard.press('Space');
    await KEYBOARD.press(page.getByRole('button', { name: 'Save' }));
    await page.getByText('Takes effect on the next call.').waitFor();

    await expect(listWith(key)).rejects.toThrow('answered 403');
    await KEYBOARD.press(page.getByRole('link', { name: 'Calls of this key' }));
    await KEYBOARD.press(page.getByRole('link', { name: /403.*insufficient_scope/ }));
    await page.getByRole('heading', { name: 'Refused by the check scope' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('restricts a key to addresses, tests one, and names an invalid entry, by keyboard alone', async () => {
    const { id } = await createKey();
    const { page } = await openPage(url(`/access/key-${id}`));
    const addresses = page.getByLabel('Addresses');
    await KEYBOARD.write(addresses, '203.0.113.0/24, 300.1.1.1');
    await KEYBOARD.press(page.getByRole('button', { name: 'Save' }));
    await page.getByRole('alert').waitFor();
    expect(await addresses.getAttribute('aria-invalid')).toBe('true');
    await page.keyboard.press('Shift+Tab');
    await KEYBOARD.write(addresses, '203.0.113.0/24');
    await KEYBOARD.press(page.getByRole('button', { name: 'Save' }));
    await page.getByText('Takes effect on the next call.').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.insertText('203.0.113.7');
    await page.keyboard.press('Enter');
    await page.getByText('Matches 203.0.113.0/24.').waitFor();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.insertText('198.51.100.1');
    await KEYBOARD.press(page.getByRole('button', { name: 'Try' }));
    await page.getByText('No entry of the allowlist matches.').waitFor();
    expect(await page.locator(':focus').innerText()).toBe('Try');
  });

  it('creates a key and shows it once, and revokes it after a confirmation, by keyboard alone', async () => {
    const { page } = await openPage(url('/access'));
    await KEYBOARD.press(page.getByRole('link', { name: 'Create key' }));
    await KEYBOARD.press(page.getByRole('button', { name: 'Create key' }));
    const shown = await page.getByLabel('Secrets').locator('dd').innerText();
    const [key = ''] = shown.split(/\s/);
    await listWith(key);
    expect(await page.locator(':focus').innerText()).toBe('Copy');
    await KEYBOARD.press(page.getByRole('link', { name: 'Open the key' }));
    await KEYBOARD.press(page.getByRole('button', { name: 'Revoke' }));
    await page.getByText('Every later call with this key is refused.').waitFor();
    await KEYBOARD.press(page.getByRole('button', { name: 'Revoke' }).last());
    await page.getByText('revoked').first().waitFor();
    await expect(listWith(key)).rejects.toThrow('answered 401');

    // Esc returns to the row, and `k` moves on from there.
    await page.keyboard.press('Escape');
    const rows = page.locator('.access .row');
    const at = () => rows.evaluateAll((all) => all.findIndex((row) => row.matches(':focus')));
    await expect.poll(at).toBeGreaterThan(0);
    const before = await at();
    await page.keyboard.press('k');
    await page.keyboard.press('Enter');
    await page.keyboard.press('j');
    expect(await at()).toBe(before);
  });

  it('registers an app, and shows markup in its name as text, by keyboard alone', async () => {
    const { page } = await openPage(url('/access'));
    await page.getByRole('link', { name: '<img src=x onerror=alert(1)>' }).waitFor();
    await KEYBOARD.press(page.getByRole('link', { name: 'Register app' }));
    await page.getByRole('heading', { name: 'New OAuth app' }).waitFor();
    await page.keyboard.insertText('Desk');
    await KEYBOARD.write(page.getByLabel('Redirect URIs'), 'ftp://desk.example/callback');
    await KEYBOARD.press(page.getByRole('button', { name: 'Register' }));
    await page.getByRole('alert').waitFor();
    await KEYBOARD.write(page.getByLabel('Redirect URIs'), 'http://127.0.0.1:3000/callback');
    await KEYBOARD.press(page.getByRole('button', { name: 'Register' }));
    await page.getByText('client_secret').waitFor();
    await KEYBOARD.press(page.getByRole('link', { name: 'Open the app' }));
    await page.getByRole('heading', { name: 'Desk' }).waitFor();
    await page.getByText('Nobody has granted access to this app.').waitFor();
  });

  it('is accessible', async () => {
    const { id } = await createKey();
    const { page } = await openPage(url('/access'));
    await page.getByRole('link', { name: id }).waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: id }).click();
    await page.getByRole('button', { name: 'Save' }).waitFor();
    await expectAccessible(page);
  });
});
