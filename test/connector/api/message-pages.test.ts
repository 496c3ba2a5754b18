import { beforeAll, describe, expect, it } from 'vitest';
import { operateMessages } from '../../../src/connector/api/messages.ts';
import type { ApiParts } from '../../../src/connector/api/operations.ts';
import type { ListConnectorMessagesQuery } from '../../../src/contract/connector/messages.ts';
import type { Database, Queryable } from '../../../src/runtime/database/database.ts';
import { aroundQueries, replaceCalls } from '../../support/replace-calls.ts';
import { countBuffers } from '../support/count-buffers.ts';
import { databaseOfFile } from '../support/event-fixtures.ts';

/** Newest messages are of others and come in; the ones that are asked for lie below all of them. */
const NEWER = 20_000;
const WANTED = 40;
const PEER = '4915100000001';
/** Pages of 8 KiB. What is asked for lies on a few of them, all of the connection on more than a thousand. */
const FEW = 150;

const database = databaseOfFile();

beforeAll(async () => {
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
});

const ask = (query: Partial<ListConnectorMessagesQuery>): ListConnectorMessagesQuery => ({
  limit: 10,
  ...query,
});

const listMessages = (of: Database) => operateMessages({ database: of } as ApiParts).listMessages;

describe('a page of messages', () => {
  it.each([
    ['of all', {}],
    ['of a conversation', { peer: PEER }],
    ['of a conversation of one connection', { peer: PEER, connectionId: 'c1' }],
    ['of one direction', { direction: 'outgoing' }],
    ['of one direction of a conversation', { peer: PEER, direction: 'outgoing' }],
    ['of a person', { person: PEER }],
    ['of a person with two spellings', { person: '+55 (11) 98765-4321' }],
    ['of unknown senders', { peer: 'none' }],
    ['of nobody that ever wrote', { peer: '1' }],
  ] as const)('%s reads few pages of the database, even for the last page', async (_, filter) => {
    const counting = countBuffers(database);
    const list = listMessages(Object.assign(Object.create(database), counting));
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

describe('a search for a text', () => {
  const find = (query: Partial<ListConnectorMessagesQuery>, db: Database = database) =>
    listMessages(db)({ query: ask(query) } as never);
  const idsOf = async (query: Partial<ListConnectorMessagesQuery>) =>
    (await find(query)).messages.map(({ id }) => id);
  /** The database, whose search does this instead. */
  const inTransaction = (
    search: (tx: Queryable, ...statement: Parameters<Queryable['query']>) => Promise<never[]>,
  ): Database =>
    replaceCalls(database, {
      transaction: (work) =>
        database.transaction((tx) =>
          work({
            query: (...statement) =>
              statement[0].includes('ilike') ? search(tx, ...statement) : tx.query(...statement),
          }),
        ),
    });
  const SET_TEXT = `UPDATE connector.messages SET text = $2 WHERE id = $1`;

  it('is refused without the index, and the answer contains the statement that creates it', async () => {
    const refused = await find({ text: 'invoice' }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'search_off' });
    const [, statements = ''] = /in Postgres: (.*)$/.exec((refused as Error).message) ?? [];
    for (const statement of statements.split(';').filter((text) => text.trim() !== ''))
      await database.query(statement, [], { deadlineMs: 60_000 });
    for (const [id, text] of [
      ['m000003', 'The INVOICE of May'],
      ['m010000', 'Rechnung äöü 100%, Service'],
      ['m030001', 'my invoice, please'],
    ])
      await database.query(SET_TEXT, [id, text]);
    // At the same time as another, so that the id decides.
    await database.query(`UPDATE connector.messages SET created_at =
      (SELECT created_at FROM connector.messages WHERE id = 'm030001') WHERE id = 'm010000'`);
    await database.query('ANALYZE connector.messages');
  });

  it('finds it in any case, newest first, and pages through it', async () => {
    expect(await idsOf({ text: 'invoice' })).toEqual(['m030001', 'm000003']);
    const pages: unknown[] = [];
    for (let cursor: string | null | undefined; cursor !== null && pages.length < 4; ) {
      const page = await find({ text: 'Ice', limit: 1, ...(cursor && { cursor }) });
      pages.push([page.messages.map(({ id }) => id), page.hasMore]);
      cursor = page.nextCursor;
    }
    expect(pages).toEqual([
      [['m010000'], true],
      [['m030001'], true],
      [['m000003'], false],
    ]);
  });

  it('is refused as long as the index is being built', async () => {
    const building = aroundQueries(database, async (text, run) => {
      const rows = await run();
      return text.includes('indisvalid') ? JSON.parse(JSON.stringify(rows).replace('true', 'false')) : rows;
    });
    await expect(find({ text: 'invoice' }, building)).rejects.toMatchObject({ code: 'search_off' });
  });

  it('takes every character as it is', async () => {
    expect(await idsOf({ text: 'RECHNUNG äöü 100%' })).toEqual(['m010000']);
    for (const text of ['100_', 'inv%ice', 'invoice\\']) expect(await idsOf({ text })).toEqual([]);
  });

  it.each([
    [{ connectionId: 'c2' }, ['m030001', 'm000003']],
    [{ connectionId: 'c1' }, []],
    [{ accountId: 'b' }, []],
    [{ direction: 'outgoing' }, ['m000003']],
    [{ peer: PEER }, ['m000003']],
    [{ person: PEER }, ['m000003']],
    [{ peer: 'none' }, []],
  ] as const)('is narrowed by the other filters: %j', async (filter, ids) => {
    expect(await idsOf({ text: 'invoice', ...filter })).toEqual(ids);
  });

  it('reads few pages of the database', async () => {
    let read = 0;
    const found = await find(
      { text: 'invoice' },
      inTransaction(async (tx, ...statement) => {
        const counting = countBuffers(tx);
        const rows = await counting.query<never>(...statement);
        read += counting.takeCount();
        return rows;
      }),
    );
    expect(found.messages).toHaveLength(2);
    expect(read).toBeLessThan(FEW);
  });

  it('is ended by Postgres after 2 s, and refused as too broad', async () => {
    let limit: unknown;
    const slow = inTransaction(async (tx) => {
      limit = await tx.query('SHOW statement_timeout');
      await tx.query(`SET LOCAL statement_timeout = '1ms'`);
      return await tx.query<never>('SELECT pg_sleep(60)');
    });
    await expect(find({ text: 'invoice' }, slow)).rejects.toMatchObject({ code: 'search_too_broad' });
    expect(limit).toEqual([{ statement_timeout: '2s' }]);
    expect(await idsOf({ text: 'invoice' })).toHaveLength(2);
  });
});
