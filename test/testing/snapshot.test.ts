import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Change, startTestLoop, type TestLoop } from '../../src/testing/index.ts';

const CONTACT = '447700900201';
const LISTS = { q: { limit: 1000 } };

describe('a snapshot', () => {
  const seen: Change[] = [];
  let loop: TestLoop;
  let connectionId: string;

  beforeAll(async () => {
    const onChange = (change: Change): void => void seen.push(change);
    loop = await startTestLoop({ databaseUrl: inject('databaseUrl'), handlers: { onChange } });
    await loop.sandbox.freezeClock();
    const { connections } = await loop.service.listConnections();
    connectionId = connections.find(({ provider }) => provider === 'qr')?.id ?? '';
  });
  afterAll(() => loop.close());

  async function write(text: string): Promise<string> {
    const params = { phone: CONTACT };
    const { messageId } = await loop.sandbox.contactWrites({ params, body: { connectionId, text } });
    await loop.waitFor({ list: 'deliveries', q: `message:${messageId} !status:pending` });
    await loop.settle();
    return messageId;
  }

  /** The state that the three APIs show, without what their own calls add. */
  async function look() {
    const { now: _, ...info } = loop.info();
    const [deliveries, ledger, connections, contacts, messages, faults, hosts, timing, clock, phone, due] =
      await Promise.all([
        loop.sandbox.listDeliveries({ query: LISTS.q }),
        loop.sandbox.readLedger({ query: LISTS.q }),
        loop.sandbox.listConnections({ query: LISTS.q }),
        loop.sandbox.listContacts({ query: LISTS.q }),
        loop.sandbox.listStoredMessages({ query: LISTS.q }),
        loop.sandbox.getFaults(),
        loop.sandbox.listHosts(),
        loop.sandbox.getTiming(),
        loop.sandbox.getClock(),
        loop.sandbox.listContactMessages({ params: { phone: CONTACT } }),
        loop.sandbox.listDue(),
      ]);
    const { now: __, ...recording } = await loop.sandbox.readRecording();
    const [ofConnector, changes, outbound, ofService] = await Promise.all([
      loop.connector.listMessages(),
      loop.connector.listChanges(),
      loop.connector.listOutbound(),
      loop.service.listMessages(),
    ]);
    return {
      ...{
        info,
        deliveries,
        ledger,
        connections,
        contacts,
        messages,
        faults,
        hosts,
        timing,
        clock,
        phone,
        due,
        recording,
      },
      ...{ ofConnector, changes, outbound, ofService },
    };
  }

  it('restores ids, keys, virtual time, faults and the feed, also after a reset', async () => {
    const { messages } = await look();
    const { entries: earlier } = await loop.sandbox.listSnapshots();
    await loop.advance('3h');
    await loop.sandbox.putContact({ params: { phone: CONTACT }, body: { readAfterMs: null } });
    await loop.sandbox.putHost({
      params: { host: 'acme.example.com' },
      body: { target: 'http://127.0.0.1:1' },
    });
    await loop.connector.queueMessage({
      body: { connectionId, to: CONTACT, text: 'Good morning', reference: 'crm-1' },
    });
    await loop.waitFor({ list: 'messages', q: 'direction:outgoing' });
    await loop.settle();
    await loop.sandbox.setTiming({ body: { sendScale: 0.5 } });
    await loop.sandbox.putFaults({
      body: {
        seed: 7,
        rules: [{ id: 'twice', match: { surface: 'webhook' }, action: { type: 'duplicate' }, first: 2 }],
      },
    });
    await write('before');
    const before = await look();
    expect(before.faults.rules).toMatchObject([{ id: 'twice', hits: 1 }]);
    expect(before.messages.entries).toHaveLength(messages.entries.length + 2);
    const snapshot = await loop.snapshot();
    expect(snapshot.now).toBe(before.clock.now);

    await write('afterwards');
    await loop.advance('1d');
    await loop.sandbox.setTiming({ body: { sendScale: 2 } });
    await loop.sandbox.deleteFaults();
    await loop.reset();
    expect((await look()).info.apiKey).not.toBe(before.info.apiKey);

    await loop.restore(snapshot);
    expect(await look()).toEqual(before);
    expect((await loop.sandbox.listSnapshots()).entries).toEqual([...earlier, snapshot]);
  });

  it('is followed by the same numbers each time, and by calls of the handler', async () => {
    const snapshot = await loop.snapshot();
    const rounds = [];
    for (const text of ['one', 'two']) {
      await loop.restore(snapshot);
      await loop.settle();
      seen.length = 0;
      const messageId = await write(text);
      const { entries } = await loop.sandbox.listDeliveries({ query: { limit: 1 } });
      const { entries: ledger } = await loop.sandbox.readLedger({ query: { order: 'newest', limit: 1 } });
      const [change] = seen.filter((each) => 'messageId' in each && each.messageId === messageId);
      expect(change?.type).toBe('message.created');
      rounds.push({ delivery: entries[0]?.id, ledger: ledger[0]?.seq, change: change?.seq });
    }
    expect(rounds[1]).toEqual(rounds[0]);
    expect(rounds[0]?.change).toBeGreaterThan(1);
  });

  it('continues the feed where a reader stopped, and keeps cursors valid', async () => {
    await write('first');
    await write('second');
    const { nextCursor } = await loop.service.listMessages({ query: { limit: 1 } });
    const { changes } = await loop.connector.listChanges();
    const last = changes.at(-1)?.seq ?? 0;
    const snapshot = await loop.snapshot();
    await write('third');
    await loop.restore(snapshot);
    expect((await loop.connector.listChanges({ query: { after: last } })).changes).toEqual([]);
    const { messages } = await loop.service.listMessages({ query: { limit: 1, cursor: nextCursor ?? '' } });
    expect(messages.map(({ text }) => text)).toEqual(['first']);
    await write('fourth');
    const { changes: later } = await loop.connector.listChanges({ query: { after: last } });
    // A poll at the same moment may add a detail to the message.
    const created = later.filter(({ type }) => type === 'message.created');
    expect(created.map(({ data }) => 'text' in data && data.text)).toEqual(['fourth']);
  });

  it('cannot be taken while a delivery is held, and an unknown one is refused', async () => {
    await loop.sandbox.putFaults({
      body: { rules: [{ id: 'slow', match: { surface: 'webhook' }, action: { type: 'drop' }, first: 1 }] },
    });
    const params = { phone: CONTACT };
    const { messageId } = await loop.sandbox.contactWrites({ params, body: { connectionId, text: 'held' } });
    const [delivery] = await loop.waitFor({ list: 'deliveries', q: `message:${messageId}` });
    const held = { params: { id: delivery?.id ?? '' } };
    await loop.sandbox.holdDelivery(held);
    await expect(loop.snapshot()).rejects.toMatchObject({ status: 409, code: 'wrong_state' });
    await loop.sandbox.releaseDelivery(held);
    const snapshot = await loop.snapshot();
    await loop.sandbox.removeSnapshot({ params: { id: snapshot.id } });
    await expect(loop.restore(snapshot)).rejects.toMatchObject({ status: 404, code: 'not_found' });
  });
});

it('a snapshot of a loop without a connector restores the service; there are 50 at most', async () => {
  await using loop = await startTestLoop({ databaseUrl: inject('databaseUrl'), connector: false });
  const snapshot = await loop.snapshot();
  const before = (await loop.service.listConnections()).connections;
  const body = { label: 'Another' };
  await loop.service.createConnection({ body });
  await loop.restore(snapshot);
  expect((await loop.service.listConnections()).connections).toEqual(before);
  for (let kept = 1; kept < 50; kept += 1) await loop.snapshot();
  await expect(loop.snapshot()).rejects.toMatchObject({
    status: 409,
    message: expect.stringContaining('There are 50 snapshots: remove one first.'),
  });
});
