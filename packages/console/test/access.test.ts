import { beforeAll, describe, it } from 'vitest';
import { expectAccessible, openPage } from '../../../test/support/chromium.ts';
import { loopOfFile } from '../../../test/support/loop-of-file.ts';

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
async function createKey(): Promise<{ readonly id: string }> {
  const { workspaceId } = test.loop.info();
  return await test.sandbox<{ id: string }>('POST', `/workspaces/${workspaceId}/api-keys`, {});
}

describe('Access', () => {
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
