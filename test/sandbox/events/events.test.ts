import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type SandboxEvent, sandboxEvent } from '../../../src/contract/sandbox/calls.ts';
import { type EventReader, readEvents } from '../../support/event-reader.ts';
import { readExactly } from '../../support/platform.ts';
import { type Receiver, startReceiver } from '../../support/receiver.ts';
import { WatchedClock } from '../../support/watched-clock.ts';
import { startTestSandbox, type TestSandbox } from '../fixture.ts';

type Entry<Type extends SandboxEvent['type']> = Extract<SandboxEvent, { type: Type }>;

const clock = new WatchedClock();
let test: TestSandbox;
let receiver: Receiver;
let reader: EventReader<SandboxEvent>;
let connectionId: string;

beforeAll(async () => {
  [test, receiver] = await Promise.all([startTestSandbox({ clock }), startReceiver()]);
});

afterAll(async () => {
  await test.close();
  await receiver.close();
});

const open = (): Promise<EventReader<SandboxEvent>> =>
  readEvents(`http://127.0.0.1:${test.port}/sandbox/v1/events`, (data) => readExactly(sandboxEvent, data));

const api = (method: string, path: string, body?: unknown) =>
  test.service.call(method, path, {
    key: test.sandbox.seed.apiKey,
    ...(body === undefined ? {} : { body }),
  });

const findConnection = async (): Promise<string> => {
  const { body } = await api('GET', '/connections');
  const { connections } = body as { connections: { id: string; provider: string }[] };
  return connections.find(({ provider }) => provider === 'qr')?.id ?? '';
};

beforeEach(async () => {
  receiver.otherwise({ status: 200 });
  await test.call('POST', '/reset');
  await test.call('PUT', '/hosts/crm.example.com', { target: receiver.origin });
  await api('PUT', '/webhook', { url: 'https://crm.example.com/' });
  connectionId = await findConnection();
  reader = await open();
});

afterEach(async () => {
  reader.close();
  await reader.ended;
});

const write = (text = 'hello') =>
  test.call('POST', '/contacts/491700000009/messages', { connectionId, text });
const eventsOf = <Type extends SandboxEvent['type']>(type: Type): Entry<Type>[] =>
  reader.events.filter((event): event is Entry<Type> => event.type === type);
/** Lets the changes that were gathered be told. */
const changes = async (): Promise<string[]> => {
  await clock.advance(100);
  await test.call('PUT', '/timing', { sendScale: 0 });
  await clock.advance(100);
  await reader.find((event) => event.type === 'changed' && event.what === 'timing');
  return eventsOf('changed')
    .map(({ what }) => what)
    .filter((what) => what !== 'timing');
};

describe('the stream of events', () => {
  it('begins with the time', async () => {
    expect(reader.answer.statusCode).toBe(200);
    expect(reader.answer.headers['content-type']).toMatch(/^text\/event-stream/);
    await reader.find(({ type }) => type === 'clock');
    expect(reader.events[0]).toEqual({
      type: 'clock',
      now: new Date(clock.now()).toISOString(),
      frozen: false,
    });
  });

  it('tells every ledger entry once and in order, as the ledger shows it', async () => {
    await write('before anyone else listens');
    await reader.find(({ type }) => type === 'ledger');
    const second = await open();
    await Promise.all(Array.from({ length: 30 }, (_, index) => write(`${index}`)));
    await reader.find((event) => event.type === 'ledger' && event.entry.seq === 31);
    await second.find((event) => event.type === 'ledger' && event.entry.seq === 31);
    const { body } = await test.call('GET', '/ledger');
    expect(eventsOf('ledger').map(({ entry }) => entry)).toEqual(body.entries);
    expect(second.events.filter(({ type }) => type === 'ledger')).toEqual(
      body.entries.slice(1).map((entry: unknown) => ({ type: 'ledger', entry })),
    );
    second.close();
  });

  it('tells a delivery when it begins, after each attempt, and when it is over', async () => {
    receiver.script({ status: 500 });
    await write();
    await clock.timerSet(500);
    await clock.advance(500);
    await reader.find((event) => event.type === 'delivery' && event.entry.outcome === 'delivered');
    expect(
      eventsOf('delivery').map(({ entry }) => [entry.outcome, entry.attempts.map(({ status }) => status)]),
    ).toEqual([
      ['pending', []],
      ['pending', [500]],
      ['delivered', [500, 200]],
    ]);
    const { body } = await test.call('GET', '/deliveries');
    expect(eventsOf('delivery').at(-1)?.entry).toEqual(body.entries[0]);
  });

  it('tells what a hand did to a delivery', async () => {
    receiver.script({ status: 500 });
    await write();
    await clock.timerSet(500);
    const { body } = await test.call('GET', '/deliveries');
    const path = `/deliveries/${body.entries[0].id}`;
    const held = await test.call('POST', `${path}/hold`);
    expect(held).toMatchObject({ status: 200, body: { held: true, outcome: 'pending' } });
    await reader.find((event) => event.type === 'delivery' && event.entry.held === true);
    await clock.advance(60_000);
    expect(receiver.requests.at(-1)?.body.toString()).toBe(body.entries[0].body);
    const { length } = receiver.requests;
    const released = await test.call('POST', `${path}/release`);
    expect(released.status).toBe(200);
    expect(released.body.held).toBeUndefined();
    await reader.find((event) => event.type === 'delivery' && event.entry.outcome === 'delivered');
    expect(receiver.requests).toHaveLength(length + 1);
    for (const action of ['hold', 'release']) {
      const { status, body: refusal } = await test.call('POST', `${path}/${action}`);
      expect({ status, error: refusal.error }).toEqual({ status: 409, error: 'wrong_state' });
      expect((await test.call('POST', `/deliveries/999/${action}`)).status).toBe(404);
    }
    await test.call('POST', `${path}/resend`);
    await reader.find((event) => event.type === 'delivery' && event.entry.attempts.length === 3);
  });

  it('tells each call to the service with its trace', async () => {
    await api('GET', '/connections/cnothing');
    const told = await reader.find((event) => event.type === 'call');
    const { body } = await test.call('GET', '/calls?limit=1');
    expect(told).toEqual({ type: 'call', entry: body.entries[0] });
    expect(told).toMatchObject({ entry: { status: 404, path: '/connections/cnothing' } });
  });

  it('tells the time when it was moved, stopped or set running', async () => {
    await test.call('POST', '/clock/freeze');
    const { body } = await test.call('POST', '/clock/advance', { ms: 86_400_000 });
    await test.call('POST', '/clock/run');
    const expected = { type: 'clock', now: body.now };
    await reader.find((event) => event.type === 'clock' && event.now === body.now && !event.frozen);
    expect(eventsOf('clock').slice(-3)).toMatchObject([
      { frozen: true },
      { ...expected, frozen: true },
      { ...expected, frozen: false },
    ]);
  });

  it('tells which lists changed: by the hand, by clients and by timers', async () => {
    const { length: seen } = await changes();
    await test.call('PUT', '/contacts/491700000007', { deliverAfterMs: 60_000, readAfterMs: null });
    await api('POST', '/messages', { connectionId, to: '491700000007', text: 'hello' });
    await api('GET', '/connections');
    expect(new Set((await changes()).slice(seen))).toEqual(new Set(['contacts', 'messages', 'timers']));
  });

  it('tells a change of one list once in a while, however often it changes', async () => {
    for (let index = 0; index < 20; index += 1) await test.call('PUT', '/faults', { rules: [] });
    expect((await changes()).filter((what) => what === 'faults')).toHaveLength(1);
  });

  it('goes on after a reset, with a ledger that begins anew', async () => {
    await write();
    await reader.find((event) => event.type === 'ledger' && event.entry.seq === 1);
    await test.call('POST', '/reset');
    connectionId = await findConnection();
    const { body: written } = await write('after the reset');
    await reader.find((event) => event.type === 'ledger' && event.entry.messageId === written.messageId);
    expect(eventsOf('ledger').map(({ entry }) => entry.seq)).toEqual([1, 1]);
    expect(await changes()).toContain('everything');
  });

  it('keeps silent connections alive', async () => {
    const beat = new Promise<void>((resolve) => {
      reader.answer.on('data', (chunk: string) => {
        if (chunk.includes(':\n\n')) resolve();
      });
    });
    await clock.advance(15_000);
    await beat;
  });

  it('ends for good when the sandbox ends its streams', async () => {
    test.sandbox.endStreams();
    await reader.ended;
    expect(reader.answer.complete).toBe(true);
    const late = await open();
    await late.ended;
    expect(late.answer.complete).toBe(true);
  });
});
