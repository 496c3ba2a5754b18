import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listMessages } from '../../../src/connector/api/messages.ts';
import type { ListConnectorMessagesQuery } from '../../../src/contract/connector/messages.ts';
import type { Database } from '../../../src/runtime/database/database.ts';
import { countBuffers } from '../support/count-buffers.ts';
import { openConnectorDatabase } from '../support/event-fixtures.ts';

/** Newest messages are of others and come in; the ones that are asked for lie below all of them. */
const NEWER = 20_000;
const WANTED = 40;
const PEER = '4915100000001';
/** Pages of 8 KiB. What is asked for lies on a few of them, all of the connection on more than a thousand. */
const FEW = 150;

let database: Database;
let close: () => Promise<void>;

beforeAll(async () => {
  ({ database, close } = await openConnectorDatabase());
  await database.query(
    `INSERT INTO connector.connections (connection_id, account_id, visible, version, updated_at)
     VALUES ('c1', 'a', true, 1, 0), ('c2', 'a', true, 1, 0)`,
  );
  await database.query(
    `INSERT INTO connector.messages
       (connection_id, id, account_id, direction, peer, text, created_at, first_seen_by, first_seen_at, polled,
        change_mask, webhook_seen, status_conflict)
     SELECT 'c' || 1 + n % 2, 'm' || lpad(n::text, 6, '0'), 'a', CASE WHEN n < ${2 * WANTED} THEN 'outgoing' ELSE 'incoming' END,
            CASE WHEN n < ${2 * WANTED} THEN '${PEER}' ELSE '49152' || n % 500 END, repeat('text ', 60), 1000 + n / 3,
            'poll', 0, true, 1, 0, false
       FROM generate_series(0, ${2 * NEWER - 1}) n`,
    [],
    { deadlineMs: 60_000 },
  );
  await database.query('ANALYZE connector.messages, connector.connections');
}, 60_000);
afterAll(() => close());

const ask = (query: Partial<ListConnectorMessagesQuery>): ListConnectorMessagesQuery => ({
  limit: 10,
  ...query,
});

describe('a page of messages', () => {
  it.each([
    ['of all', {}],
    ['of a conversation', { peer: PEER }],
    ['of a conversation of one connection', { peer: PEER, connectionId: 'c1' }],
    ['of one direction', { direction: 'outgoing' }],
    ['of one direction of a conversation', { peer: PEER, direction: 'outgoing' }],
    ['of a person', { person: PEER }],
    ['of a person with two spellings', { person: '5511987654321' }],
    ['of unknown senders', { peer: 'none' }],
    ['of nobody that ever wrote', { peer: '1' }],
  ] as const)('%s reads few pages of the database, even for the last page', async (_, filter) => {
    const counting = countBuffers(database);
    const list = listMessages(counting);
    let cursor: string | undefined;
    for (let page = 0; page < 3; page += 1) {
      const query = ask({ ...filter, ...(cursor && { cursor }) });
      const { nextCursor } = await list({ id: '', body: undefined, query });
      expect(counting.takeCount()).toBeLessThan(FEW);
      cursor = nextCursor ?? undefined;
    }
  });

  it.each([
    ['a conversation', { peer: PEER }, 2 * WANTED],
    ['a conversation of one connection', { peer: PEER, connectionId: 'c2' }, WANTED],
    ['a direction', { direction: 'outgoing' }, 2 * WANTED],
  ] as const)('lists %s completely, newest first, each message once', async (_, filter, expected) => {
    const list = listMessages(database);
    const seen: { id: string; createdAt: string }[] = [];
    for (let cursor: string | undefined, more = true; more; ) {
      const page = await list({
        id: '',
        body: undefined,
        query: ask({ ...filter, ...(cursor && { cursor }) }),
      });
      seen.push(...page.messages);
      cursor = page.nextCursor ?? undefined;
      more = page.hasMore;
    }
    expect(new Set(seen.map(({ id }) => id)).size).toBe(expected);
    expect(seen).toHaveLength(expected);
    const times = seen.map(({ createdAt }) => createdAt);
    expect(times).toEqual([...times].sort().reverse());
  });
});
