import { describe, expect, it } from 'vitest';
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import type { MessageFacts } from '../../../src/connector/db/facts.ts';
import { namePeer } from '../../../src/connector/db/name-peer.ts';
import { createFeed } from '../../../src/connector/feed/feed.ts';
import { connectorMessage, connectorMessageList } from '../../../src/contract/connector/messages.ts';
import { delivery, newId, polled, received, silentLogger } from '../support/event-fixtures.ts';
import { connectorOfFile } from '../support/running-connector.ts';

const OLD = '551187654321';
const NEW = '5511987654321';
const account = { accountId: 'default' } as const;
const { world, running } = connectorOfFile(() => ({
  apiTokens: [{ name: 'reader', rights: ['read'], token: 'a-token-that-only-reads' }],
}));

async function store(...messages: MessageFacts[]): Promise<void> {
  await commitBatch(world.database, { now: world.clock.now(), messages, via: 'coverage' });
}

/** A message whose webhook was lost, in a connection of its own. */
async function storeUnknown(
  changes: Partial<MessageFacts> = {},
): Promise<{ id: string; connectionId: string }> {
  const ids = { id: newId(), connectionId: newId() };
  await store(polled(ids.connectionId, ids.id, { ...account, ...changes }));
  return ids;
}

async function deliver(
  { id, connectionId }: { id: string; connectionId: string },
  peer: string,
): Promise<void> {
  const message = received(connectionId, id, { ...account, peer });
  await commitBatch(world.database, { now: world.clock.now(), deliveries: [delivery({ message }, account)] });
}

async function list(query: string): Promise<string[]> {
  const { status, body } = await running.ask('GET', `/v1/messages?${query}`);
  expect(status).toBe(200);
  return connectorMessageList.parse(body).messages.map(({ id }) => id);
}

const name = (id: string, phone: unknown) =>
  running.ask('PUT', `/v1/messages/${id}/peer`, { body: { phone } });
const read = async (id: string) => {
  const { body } = await running.ask('GET', `/v1/messages/${id}`);
  return [body['peer'], body['personKey']];
};

/** The type, address and key of each change of a message. */
async function told(id: string): Promise<unknown> {
  const feed = createFeed({ database: world.database, clock: world.clock, logger: silentLogger });
  await feed.settle();
  const { changes } = await feed.pageAfter(0, 100_000);
  await feed.close();
  return changes
    .filter((change) => 'messageId' in change && change.messageId === id)
    .flatMap(({ type, data }) => ('personKey' in data ? [[type, data.peer, data.personKey]] : []));
}

describe('the key of a person', () => {
  it('is the same for each spelling of the number, in messages and changes, and leaves the number as it is', async () => {
    const [connectionId, first, second] = [newId(), newId(), newId()];
    await store(received(connectionId, first, { ...account, peer: NEW }));
    await store(received(connectionId, second, { ...account, peer: OLD }));
    expect([await read(first), await read(second)]).toEqual([
      [NEW, OLD],
      [OLD, OLD],
    ]);
    expect(await told(first)).toEqual([['message.created', NEW, OLD]]);
  });

  it('is the address of a hidden number or a group, and null if no source named anybody', async () => {
    const ids = [newId(), newId()] as const;
    await store(received('c-ids', ids[0], { ...account, peer: '5511987654321@lid' }));
    await store(received('c-ids', ids[1], { ...account, peer: '5511987654321-1600000000' }));
    const { id } = await storeUnknown();
    expect(await Promise.all([...ids, id].map(read))).toEqual([
      ['5511987654321@lid', '5511987654321@lid'],
      ['5511987654321-1600000000', '5511987654321-1600000000'],
      [null, null],
    ]);
  });

  it('of a group is its id as it is, with a hyphen and dots', async () => {
    const connectionId = newId();
    for (const peer of ['447700900201-1590000000@g.us', '447700900201-1590000000']) {
      const id = newId();
      await store(received(connectionId, id, { ...account, peer }));
      expect(await list(`connectionId=${connectionId}&person=${encodeURIComponent(peer)}`)).toEqual([id]);
    }
  });

  it('lists the conversation over all spellings, page by page, and no other person', async () => {
    const connectionId = newId();
    const numbers = [OLD, NEW, '5511933334444', NEW, '551133334444', OLD];
    const ids = numbers.map((_, index) => `${connectionId}-${index}`);
    for (const [index, peer] of numbers.entries()) {
      const createdAt = world.clock.now() + index;
      await store(received(connectionId, ids[index] ?? '', { ...account, peer, createdAt }));
    }
    const hers = [ids[5], ids[3], ids[1], ids[0]];
    expect(await list(`connectionId=${connectionId}&person=${OLD}`)).toEqual(hers);
    for (const person of [NEW, '+55 (11) 98765-4321', '+55 11 8765.4321'])
      expect(await list(`connectionId=${connectionId}&person=${encodeURIComponent(person)}`)).toEqual(hers);
    expect(await list(`connectionId=${connectionId}&person=551133334444`)).toEqual([ids[4]]);
    expect(await list(`connectionId=${connectionId}&person=${NEW}&peer=${NEW}`)).toEqual([ids[3], ids[1]]);
    const { body } = await running.ask(
      'GET',
      `/v1/messages?connectionId=${connectionId}&person=${OLD}&limit=3`,
    );
    const rest = `connectionId=${connectionId}&person=${OLD}&limit=3&cursor=${body['nextCursor']}`;
    expect(await list(rest)).toEqual([ids[0]]);
  });
});

describe('a message without a known sender', () => {
  it('is listed with peer=none, and a message to an unknown recipient is not', async () => {
    const { id, connectionId } = await storeUnknown();
    await store(polled(connectionId, newId(), { ...account, direction: 'outgoing', status: 'sent' }));
    await store(received(connectionId, newId(), account));
    expect(await list(`connectionId=${connectionId}&peer=none`)).toEqual([id]);
    expect(await list(`connectionId=${connectionId}&peer=none&direction=outgoing`)).toEqual([]);
  });

  it('gets the sender that a client names, once, and is told as updated', async () => {
    const { id } = await storeUnknown();
    const { status, body } = await name(id, NEW);
    expect(status).toBe(200);
    expect(connectorMessage.strict().parse(body)).toMatchObject({ id, peer: NEW, personKey: OLD });
    expect((await name(id, NEW)).status).toBe(200);
    expect(await told(id)).toEqual([
      ['message.created', null, null],
      ['message.updated', NEW, OLD],
    ]);
    const { body: trace } = await running.ask('GET', `/v1/messages/${id}/trace`);
    expect((trace['entries'] as { source: string }[]).map(({ source }) => source)).toEqual(['poll', 'api']);
  });

  it('gets none once it was erased', async () => {
    const { id, connectionId } = await storeUnknown();
    await world.database.query('UPDATE connector.messages SET erased = true WHERE id = $1', [id]);
    await namePeer(world.database, { id, connectionId }, NEW, Date.now());
    expect(await world.database.query('SELECT peer FROM connector.messages WHERE id = $1', [id])).toEqual([
      { peer: null },
    ]);
  });

  it('gets another one if the first was wrong', async () => {
    const { id, connectionId } = await storeUnknown();
    await name(id, '15550000001');
    await name(id, '15550000002');
    expect(await read(id)).toEqual(['15550000002', '15550000002']);
    expect(await list(`connectionId=${connectionId}&peer=none`)).toEqual([]);
  });

  it('keeps the named sender when a poll reads it again, and loses it to the one of a late webhook', async () => {
    const ids = await storeUnknown();
    await name(ids.id, '15550000001');
    await store(polled(ids.connectionId, ids.id, account));
    expect(await read(ids.id)).toEqual(['15550000001', '15550000001']);
    await deliver(ids, NEW);
    await deliver(ids, '15550000009');
    expect(await told(ids.id)).toEqual([
      ['message.created', null, null],
      ['message.updated', '15550000001', '15550000001'],
      ['message.updated', NEW, OLD],
    ]);
    const { status, body } = await name(ids.id, '15550000001');
    expect([status, body['error']]).toEqual([409, 'peer_known']);
    expect(await read(ids.id)).toEqual([NEW, OLD]);
  });

  it('is the service’s when a webhook reports the sender that was named, without a further change', async () => {
    const ids = await storeUnknown();
    await name(ids.id, NEW);
    await deliver(ids, NEW);
    expect((await name(ids.id, OLD)).status).toBe(409);
    expect(await told(ids.id)).toHaveLength(2);
  });

  it.each([[`+${NEW}`], ['5511 98765'], ['1@lid'], [''], [undefined]])('is not named %s', async (phone) => {
    const { id } = await storeUnknown();
    const { status, body } = await name(id, phone);
    expect([status, body['error']]).toEqual([400, 'invalid_request']);
    expect(await read(id)).toEqual([null, null]);
  });

  it('must exist, and the token must be allowed to write', async () => {
    expect((await name('nobody', NEW)).status).toBe(404);
    const { id } = await storeUnknown();
    const options = { body: { phone: NEW }, token: 'a-token-that-only-reads' };
    expect((await running.ask('PUT', `/v1/messages/${id}/peer`, options)).status).toBe(403);
  });
});
