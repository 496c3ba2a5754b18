import { beforeAll, describe, it } from 'vitest';
import { expectAccessible, moveTo, openPage } from '../../../test/support/chromium.ts';
import { loopOfFile } from '../../../test/support/loop-of-file.ts';

const test = loopOfFile();
let desk: string;
const url = (path: string): string => `${test.loop.info().sandboxUrl}${path}`;
const say = async (contact: string, text: string, times = 1): Promise<string> => {
  const path = `/contacts/${contact}/messages`;
  const body = { connectionId: desk, text, times };
  return (await test.sandbox<{ messageId: string }>('POST', path, body)).messageId;
};

beforeAll(async () => {
  await test.sandbox('POST', '/clock/freeze');
  desk = await test.client.qrConnection();
  // The poll at startup may find a message before its webhook.
  await test.loop.settle();
});

describe('Inbox', () => {
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
