import { expect, onTestFinished, test } from 'vitest';
import type { ListMessagesAnswer } from '../../src/contract/service/messages.ts';
import { seedWorkspace, startTestPlatform } from '../support/platform.ts';
import { proves } from '../support/proves.ts';

const MESSAGES = 100_000;
const PAGE = 100;
const ARRIVE = 1_000;
const BATCH = 10;
const FROM = '4915100000009';

test('paging through 100,000 messages returns each exactly once while 1,000 more arrive', {
  ...proves('messages.list.newest-first', 'messages.list.cursor'),
}, async () => {
  const service = await startTestPlatform();
  onTestFinished(() => service.close());
  const { key, connectionId, workspaceId } = await seedWorkspace(service);
  const { id: quiet } = await service.platform.connections.createPaired(workspaceId, {
    provider: 'cloud_api',
    phoneNumber: '4915112345679',
  });
  const receive = (to: string, count: number): Promise<string[]> =>
    service.platform.messages.receiveMany(
      to,
      Array.from({ length: count }, () => ({ from: FROM, text: 'hello' })),
    );
  // `call` has checked the shape of each answer.
  const readPage = async (cursor: string | null): Promise<ListMessagesAnswer> => {
    const at = cursor === null ? '' : `&cursor=${cursor}`;
    const { body } = await service.call('GET', `/messages?limit=${PAGE}${at}`, { key });
    return body as ListMessagesAnswer;
  };

  // The last ones are on the connection that receives the arrivals, so that the walk meets both.
  const stored: string[] = [];
  for (let left = MESSAGES; left > 0; left -= 10_000) {
    stored.push(...(await receive(left === 10_000 ? connectionId : quiet, 10_000)));
  }

  const arrived: string[] = [];
  const seen: string[] = [];
  let page = await readPage(null);
  for (;;) {
    seen.push(...page.messages.map(({ id }) => id));
    if (page.nextCursor === null) break;
    const arrivals = arrived.length < ARRIVE ? receive(connectionId, BATCH) : [];
    // A read and arrivals run concurrently, in either order.
    const [next, ids] = await Promise.all([readPage(page.nextCursor), arrivals]);
    arrived.push(...ids);
    page = next;
  }
  expect(arrived).toHaveLength(ARRIVE);
  expect(seen).toHaveLength(MESSAGES);
  expect(seen).toEqual(stored.reverse());

  const again: string[] = [];
  for (let cursor: string | null = null; again.length < ARRIVE; ) {
    const { messages, nextCursor } = await readPage(cursor);
    again.push(...messages.map(({ id }) => id));
    cursor = nextCursor;
  }
  expect(again).toEqual(arrived.reverse());
});
