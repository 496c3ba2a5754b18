import { beforeAll, describe, it } from 'vitest';
import { expectAccessible, moveTo, openPage } from '../../../test/support/chromium.ts';
import { loopOfFile } from '../../../test/support/loop-of-file.ts';

const test = loopOfFile();
const url = (path: string): string => `${test.loop.info().sandboxUrl}${path}`;

/** A connection that waits for its owner's phone. */
async function create(label: string): Promise<string> {
  const { connection } = await test.service<{ connection: { id: string } }>('POST', '/connections', {
    label,
  });
  return connection.id;
}

beforeAll(async () => {
  await test.sandbox('POST', '/clock/freeze');
});

describe('Phone', () => {
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
    await page.getByRole('button', { name: 'Change the behavior' }).click();
    await page.getByLabel('Replies to each message').waitFor();
    await expectAccessible(page);
  });
});
