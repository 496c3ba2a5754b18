import { describe, expect, test } from 'vitest';
import { listMessagesAnswer } from '../../../src/contract/service/messages.ts';
import { ofFile } from '../../support/of-file.ts';
import { addConnection, readExactly, seedWorkspace, startTestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';

describe('GET /messages', () => {
  const service = ofFile(startTestPlatform);

  async function list(key: string, query = '') {
    const answer = await service.call('GET', `/messages${query}`, { key });
    expect(answer.status).toBe(200);
    return readExactly(listMessagesAnswer, answer.body);
  }

  async function receive(connectionId: string, ...texts: string[]): Promise<string[]> {
    return service.platform.messages.receiveMany(
      connectionId,
      texts.map((text) => ({ from: '4915100000009', text })),
    );
  }

  /** Every page from the first to the last, with what `between` does after each. */
  async function walk(
    key: string,
    query: string,
    between: (page: number) => Promise<unknown> = async () => {},
  ) {
    const seen: string[] = [];
    let cursor: string | null = null;
    for (let page = 1; ; page += 1) {
      const at: string = cursor === null ? '' : `&cursor=${cursor}`;
      const answer = await list(key, `?${query}${at}`);
      seen.push(...answer.messages.map((message) => message.id));
      expect(answer.hasMore).toBe(answer.nextCursor !== null);
      if (answer.nextCursor === null) return seen;
      cursor = answer.nextCursor;
      await between(page);
    }
  }

  test('returns exactly the fields of a message, in either direction, on either kind', async () => {
    proves('messages.item.exact', 'messages.item.id', 'messages.item.waMessageId');
    proves('messages.item.connectionId', 'messages.item.direction', 'messages.item.text');
    proves('messages.item.mediaUrl', 'messages.item.mediaType', 'messages.item.status');
    proves('messages.item.errorMessage', 'messages.item.createdAt', 'messages.list.answer');
    proves('service.cloud-api.polled', 'service.provider.same-shapes');
    proves('wire.timestamps.rest');
    for (const provider of ['qr', 'cloud_api'] as const) {
      const { key, workspaceId } = await seedWorkspace(service);
      const phoneNumber = '447700900171';
      const { connections, time } = service.platform;
      const { id: connectionId } = await connections.createPaired(workspaceId, { provider, phoneNumber });
      const body = { connectionId, to: '4915100000009', text: 'out' };
      const sent = await service.call('POST', '/messages', { key, body });
      const { messageId } = sent.body as { messageId: string };
      const [id = ''] = await receive(connectionId, 'in');
      const shared = {
        waMessageId: expect.any(String),
        connectionId,
        mediaUrl: null,
        mediaType: null,
        errorMessage: null,
        createdAt: new Date(time.now()).toISOString(),
      };
      expect((await service.call('GET', '/messages', { key })).body).toEqual({
        messages: [
          { ...shared, id, direction: 'incoming', text: 'in', status: 'delivered' },
          { ...shared, id: messageId, direction: 'outgoing', text: 'out', status: 'sent' },
        ],
        nextCursor: null,
        hasMore: false,
      });
      for (const one of [id, messageId]) expect(one).toMatch(/^c[a-z0-9]{20,31}$/);
    }
  });

  test('lists newest first, by default 20 per page', async () => {
    proves('messages.list.newest-first', 'messages.list.limit-default', 'limits.page');
    const { key, connectionId } = await seedWorkspace(service);
    const ids = await receive(connectionId, ...Array.from({ length: 25 }, (_, index) => `text ${index}`));
    const newestFirst = ids.toReversed();
    const first = await list(key);
    expect(first.messages.map((message) => message.id)).toEqual(newestFirst.slice(0, 20));
    expect((await list(key, '?limit=3')).messages.map((message) => message.id)).toEqual(
      newestFirst.slice(0, 3),
    );
    expect((await list(key, '?limit=100')).messages).toHaveLength(25);
  });

  test('a page with exactly the remaining messages is the last', async () => {
    proves('choice.cursor.bound');
    const { key, connectionId } = await seedWorkspace(service);
    await receive(connectionId, 'a', 'b', 'c', 'd');
    const first = await list(key, '?limit=2');
    const second = await list(key, `?limit=2&cursor=${first.nextCursor}`);
    expect([second.messages.length, second.nextCursor, second.hasMore]).toEqual([2, null, false]);
  });

  test('paging neither skips nor repeats while messages of the same millisecond arrive', async () => {
    proves('messages.list.cursor');
    const { key, workspaceId, connectionId } = await seedWorkspace(service);
    const other = await addConnection(service, workspaceId, '4915100000003', 'cloud_api');
    const ids: string[] = [];
    for (let round = 0; round < 10; round += 1) {
      ids.push(...(await receive(connectionId, 'one', 'two', 'three')), ...(await receive(other.id, 'four')));
    }
    const seen = await walk(key, 'limit=7', () => receive(connectionId, 'late', 'later'));
    expect(seen).toEqual(ids.toReversed());
  });

  test('pages may differ in size', async () => {
    const { key, connectionId } = await seedWorkspace(service);
    const ids = await receive(connectionId, 'a', 'b', 'c', 'd', 'e');
    const first = await list(key, '?limit=1');
    const rest = await list(key, `?limit=100&cursor=${first.nextCursor}`);
    expect([...first.messages, ...rest.messages].map((message) => message.id)).toEqual(ids.toReversed());
  });

  test('limits the list to one connection', async () => {
    proves('messages.list.filter', 'messages.list.query');
    const { key, workspaceId, connectionId } = await seedWorkspace(service);
    const other = await addConnection(service, workspaceId, '4915100000004');
    await receive(connectionId, 'here');
    await receive(other.id, 'there', 'there too');
    const page = await list(key, `?connectionId=${other.id}&limit=1`);
    expect(page.messages.map((message) => message.text)).toEqual(['there too']);
    expect(await walk(key, `connectionId=${other.id}&limit=1`)).toHaveLength(2);
  });

  test('is empty for a connection outside the grant, of another workspace, or that does not exist', async () => {
    proves('messages.list.foreign-empty', 'messages.list.scoped');
    const stranger = await seedWorkspace(service);
    await receive(stranger.connectionId, 'private');
    const { workspaceId, connectionId } = await seedWorkspace(service);
    await receive(connectionId, 'hidden from this key');
    const { key } = await service.platform.apiKeys.create(workspaceId, { connectionIds: [] });
    const empty = { messages: [], nextCursor: null, hasMore: false };
    for (const id of [connectionId, stranger.connectionId, 'cunknown', '', '%00', "'; drop table x"]) {
      expect(await list(key, `?connectionId=${id}`)).toEqual(empty);
    }
    expect(await list(key)).toEqual(empty);
  });

  test('hides messages of a connection whose license has lapsed', async () => {
    proves('choice.unlicensed.hidden');
    const { key, workspaceId, connectionId } = await seedWorkspace(service);
    const other = await addConnection(service, workspaceId, '4915100000005');
    await receive(connectionId, 'lapsed');
    await receive(other.id, 'licensed');
    await service.platform.licenses.set(connectionId, { status: 'expired' });
    expect((await list(key)).messages.map((message) => message.text)).toEqual(['licensed']);
    await service.platform.licenses.set(connectionId, { status: 'active' });
    expect((await list(key)).messages.map((message) => message.text)).toEqual(['licensed', 'lapsed']);
  });

  test('refuses a cursor that is forged, or from another filter or workspace', async () => {
    proves('messages.list.cursor', 'choice.cursor.refused', 'choice.cursor.bound');
    const { key, connectionId } = await seedWorkspace(service);
    await receive(connectionId, 'a', 'b', 'c');
    const cursor = (await list(key, '?limit=1')).nextCursor ?? '';
    const stranger = await seedWorkspace(service);
    const altered = (cursor.startsWith('A') ? 'B' : 'A') + cursor.slice(1);
    const tries: [string, string][] = [
      [key, `cursor=${altered}`],
      [key, `cursor=${cursor}&connectionId=${connectionId}`],
      [key, `cursor=${cursor.slice(0, -1)}`],
      [key, `cursor=${cursor}AAAA`],
      [key, 'cursor='],
      [key, 'cursor=%00'],
      [stranger.key, `cursor=${cursor}`],
    ];
    for (const [as, query] of tries) {
      const answer = await service.call('GET', `/messages?${query}`, { key: as });
      expect([query, answer.status, answer.body]).toMatchObject([
        query,
        400,
        { error: 'invalid_request', field: 'cursor' },
      ]);
    }
    expect((await list(key, `?cursor=${cursor}`)).messages).toHaveLength(2);
  });

  test('a cursor is valid for another key of the workspace, and after a restart', async () => {
    proves('choice.cursor.bound');
    const { key, workspaceId, connectionId } = await seedWorkspace(service);
    const ids = await receive(connectionId, 'a', 'b', 'c');
    const cursor = (await list(key, '?limit=1')).nextCursor ?? '';
    await service.restart();
    const other = await service.platform.apiKeys.create(workspaceId);
    const rest = await list(other.key, `?cursor=${cursor}`);
    expect(rest.messages.map((message) => message.id)).toEqual(ids.slice(0, 2).toReversed());
  });

  test('createdAt never decreases from the oldest to the newest, with concurrent writers and a clock that jumps back', async () => {
    const { key, workspaceId, connectionId } = await seedWorkspace(service);
    const other = await addConnection(service, workspaceId, '4915100000006');
    const writers = Array.from({ length: 20 }, async (_, index) => {
      if (index === 10) service.clock.jump(-60_000);
      await service.clock.advance(1);
      await receive(index % 2 === 0 ? connectionId : other.id, `text ${index}`);
    });
    await Promise.all(writers);
    const { messages } = await list(key, '?limit=100');
    const times = messages.map((message) => Date.parse(message.createdAt)).toReversed();
    expect(times).toHaveLength(20);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  test('createdAt does not decrease after a restart on a wall clock that was set back', async () => {
    const { key, connectionId } = await seedWorkspace(service);
    await receive(connectionId, 'before');
    service.clock.jump(-3_600_000);
    await service.restart();
    await receive(connectionId, 'after');
    const [after, before] = (await list(key)).messages;
    expect([after?.text, before?.text]).toEqual(['after', 'before']);
    expect(after?.createdAt).toBe(before?.createdAt);
  });

  test('merges the connections of a key with a connection list, newest first, page by page', async () => {
    proves('messages.list.scoped', 'messages.list.newest-first', 'messages.list.cursor');
    const { workspaceId, connectionId } = await seedWorkspace(service);
    const others: string[] = [];
    for (const phoneNumber of ['4915112345671', '4915112345672', '4915112345673']) {
      const paired = { provider: 'qr', phoneNumber } as const;
      others.push((await service.platform.connections.createPaired(workspaceId, paired)).id);
    }
    const [reached = '', hidden = '', silent = ''] = others;
    const expected: string[] = [];
    for (let round = 0; round < 12; round += 1) {
      await receive(hidden, 'not', 'for', 'this', 'key');
      expected.push(...(await receive(connectionId, 'one')));
      if (round % 3 === 0) expected.push(...(await receive(reached, 'two', 'three')));
    }
    const { key } = await service.platform.apiKeys.create(workspaceId, {
      connectionIds: [connectionId, reached, silent],
    });
    for (const limit of [1, 3, 7, 100]) {
      expect(await walk(key, `limit=${limit}`)).toEqual(expected.toReversed());
    }
    expect((await list(key, `?connectionId=${hidden}`)).messages).toEqual([]);
  });
});
