import { describe, expect, it, vi } from 'vitest';
import type { ConditionLists } from '../../../src/sandbox/conditions/condition-lists.ts';
import { waitFor } from '../../../src/sandbox/conditions/wait.ts';
import type { DeliveryControl } from '../../../src/sandbox/deliveries/control-deliveries.ts';
import { callEndpoints } from '../../../src/sandbox/endpoints/call-endpoints.ts';
import { conditionLists } from '../../../src/sandbox/endpoints/condition-endpoints.ts';
import { deliveryEndpoints } from '../../../src/sandbox/endpoints/delivery-endpoints.ts';
import { pairingEndpoints } from '../../../src/sandbox/endpoints/pairing-endpoints.ts';
import { peopleEndpoints } from '../../../src/sandbox/endpoints/people-endpoints.ts';
import { createEventHub } from '../../../src/sandbox/events/event-hub.ts';
import { useHookedSandbox } from '../hooked-sandbox.ts';

const hook = useHookedSandbox();
const settle = () => hook.service.platform.settle();
const wait = async (body: object) => {
  const { status, body: answer } = await hook.call('POST', '/wait', body);
  expect(status, JSON.stringify(answer)).toBe(200);
  return answer;
};
const verify = async (body: object) => {
  const { status, body: answer } = await hook.call('POST', '/verify', body);
  expect(status, JSON.stringify(answer)).toBe(200);
  return answer;
};
const write = async (text: string): Promise<string> => (await hook.write(text)).body.messageId;

/** Two deliveries: of a message that arrived, and of one that was lost. */
async function oneArrivesOneIsLost() {
  const arrived = await write('arrives');
  await settle();
  await hook.call('PUT', '/faults', {
    rules: [{ id: 'lost', match: { surface: 'webhook' }, action: { type: 'drop' }, per: 'event' }],
  });
  const lost = await write('is lost');
  for (const ms of [500, 1_000]) {
    await hook.clock.timerSet(ms);
    await hook.clock.advance(ms);
  }
  await settle();
  const { body } = await hook.call('GET', '/deliveries');
  const [second, first] = body.entries;
  return { arrived, lost, first, second };
}

describe('POST /wait', () => {
  it('is answered immediately if the entry exists', async () => {
    const messageId = await write('hello');
    await settle();
    expect(await wait({ list: 'deliveries', q: `message:${messageId} status:delivered` })).toMatchObject({
      list: 'deliveries',
      holds: true,
      entries: [{ messageId, outcome: 'delivered' }],
      explanation: expect.stringMatching(/^1 of 1 found: delivery \d+ \(message\.received, delivered\)\.$/),
    });
  });

  it('is answered by the matching event, without a timer', async () => {
    const waiting = wait({ list: 'deliveries', q: 'status:delivered', count: 2, timeoutMs: 60_000 });
    await hook.clock.timerSet(60_000);
    const [first, second] = [await write('one'), await write('two')];
    const { holds, entries } = await waiting;
    expect({ holds, of: entries.map((entry: { messageId: string }) => entry.messageId) }).toEqual({
      holds: true,
      of: [second, first],
    });
  });

  it('waits for calls, messages and connections in the same way', async () => {
    const call = wait({ list: 'calls', q: 'path:/account status:200' });
    const message = wait({ list: 'messages', q: 'direction:incoming "good morning"' });
    const connection = wait({ list: 'connections', q: `outage:phone_off connection:${hook.connectionId}` });
    await hook.clock.timerSet(5_000);
    await hook.api('GET', '/account');
    const messageId = await write('Good morning');
    await hook.call('POST', `/connections/${hook.connectionId}/phone`, { on: false });
    expect(await call).toMatchObject({ holds: true, entries: [{ path: '/account' }] });
    expect(await message).toMatchObject({ holds: true, entries: [{ id: messageId }] });
    expect(await connection).toMatchObject({ holds: true, entries: [{ id: hook.connectionId }] });
  });

  it('returns how many entries it found, and which others exist', async () => {
    const { lost, first, second } = await oneArrivesOneIsLost();
    expect(await wait({ list: 'deliveries', q: `message:${lost}`, count: 2, timeoutMs: 0 })).toMatchObject({
      holds: false,
      entries: [{ id: second.id }],
      explanation: `1 of 2 found (delivery ${second.id} (message.received, dropped)). The newest others: delivery ${first.id} (message.received, delivered).`,
    });
    expect(await wait({ list: 'messages', q: 'direction:outgoing status:read', timeoutMs: 0 })).toMatchObject(
      { explanation: expect.stringMatching(/^0 of 1 found\. The newest others: message \w+ \(incoming, /) },
    );
  });

  it('ends after its time limit', async () => {
    const waiting = wait({ list: 'calls', q: 'path:/nowhere', timeoutMs: 700 });
    await hook.clock.timerSet(700);
    await hook.clock.advance(700);
    expect(await waiting).toMatchObject({ holds: false, waitedMs: 700 });
  });

  it('ends with its client, and follows no events then', async () => {
    const before = hook.clock.pending;
    const gone = new AbortController();
    const body = JSON.stringify({ list: 'calls', q: 'path:/nowhere', timeoutMs: 800 });
    const headers = { 'content-type': 'application/json' };
    const url = `http://127.0.0.1:${hook.port}/sandbox/v1/wait`;
    const waiting = fetch(url, { method: 'POST', body, headers, signal: gone.signal });
    await hook.clock.timerSet(800);
    gone.abort();
    await expect(waiting).rejects.toThrow();
    await expect.poll(() => hook.clock.pending).toBe(before);
    const [events, publish] = [createEventHub(), vi.fn()];
    const lists = { calls: async () => [] } as unknown as ConditionLists;
    await waitFor({ lists, events, clock: hook.clock }, { list: 'calls', timeoutMs: 0 }, gone.signal);
    events.publish(publish);
    expect(publish).not.toHaveBeenCalled();
  });

  it('does not miss what happens while it looks', async () => {
    const events = createEventHub();
    const [call] = (await hook.call('GET', '/calls')).body.entries;
    const found = [[], [call]];
    const lists = {
      calls: async () => {
        events.changed('calls');
        return found.shift() ?? [];
      },
    } as unknown as ConditionLists;
    const waited = waitFor(
      { lists, events, clock: hook.clock },
      { list: 'calls' },
      new AbortController().signal,
    );
    await new Promise(setImmediate);
    expect(found).toEqual([]);
    expect(await waited).toMatchObject({ holds: true, waitedMs: 0 });
  });

  it('refuses a filter that the list does not support', async () => {
    const { status, body } = await hook.call('POST', '/wait', { list: 'calls', q: 'outcome:dropped' });
    expect({ status, body }).toMatchObject({ status: 400, body: { error: 'invalid_request', field: 'q' } });
    expect(body.message).toContain('`outcome:dropped` has an unknown key; the keys are status, method');
  });
});

describe('POST /verify', () => {
  const received = 'type:message.received';

  it('succeeds for entries that exist, in this order', async () => {
    await oneArrivesOneIsLost();
    const expected = [{ q: `${received} arrives` }, { q: `${received} status:dropped` }];
    expect(await verify({ list: 'deliveries', expected, only: true })).toEqual({
      holds: true,
      examined: 2,
      differences: [],
      explanation: 'All 2 expected entries are there in this order, and no others.',
    });
    expect(
      await verify({ list: 'deliveries', expected: [{ q: received, count: 2 }], only: true }),
    ).toMatchObject({ holds: true });
  });

  it('reports an entry out of order as missing, unless any order is accepted', async () => {
    const { first, second } = await oneArrivesOneIsLost();
    const expected = [{ q: 'status:dropped' }, { q: 'status:delivered' }];
    expect(await verify({ list: 'deliveries', expected })).toMatchObject({
      holds: false,
      differences: [{ kind: 'missing', place: 2, q: 'status:delivered' }],
      explanation: `- 2. status:delivered
  delivery ${first.id} (message.received, delivered)
  delivery ${second.id} (message.received, dropped)`,
    });
    expect(await verify({ list: 'deliveries', expected, anyOrder: true, only: true })).toMatchObject({
      holds: true,
      explanation: 'All 2 expected entries are there, and no others.',
    });
  });

  it('in any order gives an entry that two expect to the one that no other satisfies', async () => {
    await oneArrivesOneIsLost();
    const expected = [{ q: received }, { q: 'status:delivered' }];
    expect(await verify({ list: 'deliveries', expected, anyOrder: true, only: true })).toMatchObject({
      holds: true,
    });
  });

  it('reports what is missing, each expected entry with another one', async () => {
    const { arrived } = await oneArrivesOneIsLost();
    const expected = [{ q: `message:${arrived}`, count: 2 }];
    expect(await verify({ list: 'deliveries', expected })).toMatchObject({
      holds: false,
      examined: 2,
      differences: [{ kind: 'missing', place: 2, q: `message:${arrived}` }],
    });
  });

  it('reports unexpected entries among those that are compared', async () => {
    const { arrived, first, second } = await oneArrivesOneIsLost();
    const expected = [{ q: `message:${arrived}` }];
    expect(await verify({ list: 'deliveries', expected, only: true })).toMatchObject({
      holds: false,
      differences: [{ kind: 'unexpected', id: second.id }],
      explanation: `  delivery ${first.id} (message.received, delivered)
+ delivery ${second.id} (message.received, dropped)`,
    });
    expect(await verify({ list: 'deliveries', q: 'status:delivered', expected, only: true })).toMatchObject({
      holds: true,
      examined: 1,
    });
    expect(await verify({ list: 'calls', q: 'path:/messages', expected: [], only: true })).toMatchObject({
      holds: true,
      explanation: 'All 0 expected entries are there, and no others.',
    });
  });

  it('finds an entry among those that are examined, however many others are newer', async () => {
    await hook.api('GET', '/account');
    await hook.api('GET', '/webhook');
    const { position, kept } = hook.ports.calls.save();
    const newer = Array.from({ length: 1_000 }, (_, place) => place + position + 1).flatMap((at) =>
      kept.slice(-1).map(({ entry }) => ({ position: at, entry: { ...entry, id: String(at) } })),
    );
    hook.ports.calls.load({ position: position + newer.length, kept: [...kept, ...newer] });
    const expected = [{ q: 'method:GET' }];
    expect(await verify({ list: 'calls', q: 'path:/account', expected })).toMatchObject({
      holds: true,
      examined: 1,
    });
  });

  it('finds in each list what matches both filters, also with the same key', async () => {
    const [one, two] = [await write('one'), await write('two')];
    await settle();
    await hook.api('GET', '/account');
    await hook.api('GET', '/webhook');
    const { platform, database } = hook.service;
    const lists = conditionLists({
      ...callEndpoints(hook.ports.calls),
      ...peopleEndpoints(platform),
      ...pairingEndpoints(platform, database),
      ...deliveryEndpoints(platform, {} as DeliveryControl),
    });
    expect(await lists.calls('path:*', 1, 'path:/account')).toMatchObject([{ path: '/account' }]);
    expect(await lists.messages('message:*', 1, `message:${one}`)).toMatchObject([{ id: one }]);
    expect(await lists.messages(`message:${two}`, 1, `message:${one}`)).toEqual([]);
    expect(await lists.deliveries('message:*', 1, `message:${one}`)).toMatchObject([{ messageId: one }]);
    const number = '447700900101';
    expect(await lists.connections('phone:*', 1, `phone:${number}`)).toMatchObject([{ phoneNumber: number }]);
  });

  it('refuses a filter, with its position', async () => {
    const { status, body } = await hook.call('POST', '/verify', {
      list: 'messages',
      expected: [{ q: '' }, { q: 'status:lost' }],
    });
    expect({ status, field: body.field }).toEqual({ status: 400, field: 'expected.1.q' });
  });
});

it('GET /contacts/{phone} returns the behavior that was set, or the default one', async () => {
  const { body: set } = await hook.call('PUT', '/contacts/447700900210', { readAfterMs: null });
  expect((await hook.call('GET', '/contacts/447700900210')).body).toEqual(set);
  expect(set.readAfterMs).toBeNull();
  const { body: other } = await hook.call('GET', '/contacts/447700900211');
  expect(other).toMatchObject({ onNetwork: true, autoReply: null });
  expect((await hook.call('GET', '/contacts/+447')).status).toBe(400);
});
