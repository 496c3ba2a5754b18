import { beforeAll, beforeEach, expect, it } from 'vitest';
import type { DeadLetterList } from '../../../src/contract/connector/changes.ts';
import type { SyncStatus } from '../../../src/contract/connector/sync.ts';
import { startTestLoop } from '../../support/loop.ts';
import { ofFile } from '../../support/of-file.ts';

const running = ofFile(() =>
  startTestLoop({
    handlers: {
      attempts: 1,
      onChange(change, { key }) {
        if (change.type !== 'message.created') return;
        calls.push([key, change.data.text]);
        if (bad.has(change.data.text ?? '')) throw new RangeError('no room');
      },
    },
  }),
);
let connectionId: string;
/** Texts that the handler cannot take, and what it was called with. */
const bad = new Set<string>();
const calls: (readonly [key: string, text: string | null])[] = [];

beforeAll(async () => {
  connectionId = await running.client.qrConnection();
  await running.connector('POST', '/v1/sync', {});
});
beforeEach(async () => {
  for (const { id } of (await list()).deadLetters)
    await running.connector('DELETE', `/v1/dead-letters/${id}`);
  for (const text of ['one', 'two']) bad.add(text);
  calls.length = 0;
  for (const text of ['one', 'fine', 'two', 'fine, too']) {
    await running.client.write(connectionId, text);
    await running.loop.settle();
  }
});

const list = (query = '') => running.connector<DeadLetterList>('GET', `/v1/dead-letters${query}`);

it('dead letters are listed newest first and page by page, while other changes are dispatched', async () => {
  expect(calls.map(([, text]) => text)).toEqual(['one', 'fine', 'two', 'fine, too']);
  const first = await list('?limit=1');
  expect(first).toMatchObject({
    deadLetters: [
      {
        id: calls[2]?.[0],
        attempts: 1,
        change: { type: 'message.created', connectionId, data: { text: 'two', direction: 'incoming' } },
        lastError: expect.stringMatching(/^RangeError: no room \(test\/.+:\d+\)$/),
      },
    ],
    hasMore: true,
  });
  const second = await list(`?limit=1&cursor=${first.nextCursor}`);
  expect(second).toMatchObject({ deadLetters: [{ id: calls[0]?.[0] }], nextCursor: null, hasMore: false });
  await expect(list('?cursor=x')).rejects.toThrow('answered 400');
});

it('dead letters are counted in the state of synchronization', async () => {
  expect(await running.connector<SyncStatus>('GET', '/v1/sync')).toMatchObject({
    sends: { waiting: 0, oldestAt: null },
    dispatch: { waiting: 0, oldestAt: null, deadLetters: 2 },
  });
});

it('dead letters can be replayed with the same key, or deleted', async () => {
  const [two, one] = (await list()).deadLetters.map(({ id }) => id);
  bad.delete('one');
  expect(await running.connector('POST', `/v1/dead-letters/${one}/replay`)).toEqual({ ok: true });
  expect(await running.connector('DELETE', `/v1/dead-letters/${two}`)).toEqual({ ok: true });
  await running.loop.settle();
  expect(calls.at(-1)).toEqual([one, 'one']);
  expect(calls).toHaveLength(5);
  expect((await list()).deadLetters).toEqual([]);
  for (const id of [one, two, 'x', `${String(one).split('-')[0]}-999`]) {
    await expect(running.connector('POST', `/v1/dead-letters/${id}/replay`)).rejects.toThrow('answered 404');
    await expect(running.connector('DELETE', `/v1/dead-letters/${id}`)).rejects.toThrow('answered 404');
  }
});
