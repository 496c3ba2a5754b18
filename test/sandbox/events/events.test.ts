import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type SandboxEvent, sandboxEvent } from '../../../src/contract/sandbox/calls.ts';
import { createEventHub } from '../../../src/sandbox/events/event-hub.ts';
import { createEventStreams } from '../../../src/sandbox/events/event-streams.ts';
import { type EventReader, readEvents } from '../../support/event-reader.ts';
import { readExactly } from '../../support/platform.ts';
import { startTestSandbox } from '../fixture.ts';
import { useHookedSandbox } from '../hooked-sandbox.ts';

type Entry<Type extends SandboxEvent['type']> = Extract<SandboxEvent, { type: Type }>;

const hook = useHookedSandbox();
let reader: EventReader<SandboxEvent>;

const open = ({ port }: { port: number } = hook): Promise<EventReader<SandboxEvent>> =>
  readEvents(`http://127.0.0.1:${port}/sandbox/v1/events`, (data) => readExactly(sandboxEvent, data));

beforeEach(async () => {
  reader = await open();
});

afterEach(async () => {
  reader.close();
  await reader.ended;
});

const eventsOf = <Type extends SandboxEvent['type']>(type: Type): Entry<Type>[] =>
  reader.events.filter((event): event is Entry<Type> => event.type === type);
/** Lets the changes that were gathered be told. */
const changes = async (): Promise<string[]> => {
  await hook.clock.advance(100);
  await hook.call('PUT', '/timing', { sendScale: 0 });
  await hook.clock.advance(100);
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
      now: new Date(hook.service.platform.time.now()).toISOString(),
      frozen: false,
    });
  });

  it('contains every ledger entry once and in order, as the ledger shows it', async () => {
    await hook.write('before anyone else listens');
    await reader.find(({ type }) => type === 'ledger');
    const second = await open();
    await Promise.all(Array.from({ length: 30 }, (_, index) => hook.write(`${index}`)));
    await reader.find((event) => event.type === 'ledger' && event.entry.seq === 31);
    await second.find((event) => event.type === 'ledger' && event.entry.seq === 31);
    const { body } = await hook.call('GET', '/ledger');
    expect(eventsOf('ledger').map(({ entry }) => entry)).toEqual(body.entries);
    expect(second.events.filter(({ type }) => type === 'ledger')).toEqual(
      body.entries.slice(1).map((entry: unknown) => ({ type: 'ledger', entry })),
    );
    second.close();
  });

  it('reports a delivery when it begins, after each attempt, and when it ends', async () => {
    hook.receiver.script({ status: 500 });
    await hook.write();
    await hook.clock.pass(500);
    await reader.find((event) => event.type === 'delivery' && event.entry.outcome === 'delivered');
    expect(
      eventsOf('delivery').map(({ entry }) => [entry.outcome, entry.attempts.map(({ status }) => status)]),
    ).toEqual([
      ['pending', []],
      ['pending', [500]],
      ['delivered', [500, 200]],
    ]);
    const { body } = await hook.call('GET', '/deliveries');
    expect(eventsOf('delivery').at(-1)?.entry).toEqual(body.entries[0]);
  });

  it('reports manual actions on a delivery', async () => {
    hook.receiver.script({ status: 500 });
    await hook.write();
    await hook.clock.timerSet(500);
    const { body } = await hook.call('GET', '/deliveries');
    const path = `/deliveries/${body.entries[0].id}`;
    const held = await hook.call('POST', `${path}/hold`);
    expect(held).toMatchObject({ status: 200, body: { held: true, outcome: 'pending' } });
    await reader.find((event) => event.type === 'delivery' && event.entry.held === true);
    await hook.clock.advance(60_000);
    expect(hook.receiver.requests.at(-1)?.body.toString()).toBe(body.entries[0].body);
    const { length } = hook.receiver.requests;
    const released = await hook.call('POST', `${path}/release`);
    expect(released.status).toBe(200);
    expect(released.body.held).toBeUndefined();
    await reader.find((event) => event.type === 'delivery' && event.entry.outcome === 'delivered');
    expect(hook.receiver.requests).toHaveLength(length + 1);
    for (const action of ['hold', 'release']) {
      const { status, body: refusal } = await hook.call('POST', `${path}/${action}`);
      expect({ status, error: refusal.error }).toEqual({ status: 409, error: 'wrong_state' });
      expect((await hook.call('POST', `/deliveries/999/${action}`)).status).toBe(404);
    }
    await hook.call('POST', `${path}/resend`);
    await reader.find((event) => event.type === 'delivery' && event.entry.attempts.length === 3);
  });

  it('contains each call to the service with its trace', async () => {
    await hook.api('GET', '/connections/cnothing');
    const told = await reader.find((event) => event.type === 'call');
    const { body } = await hook.call('GET', '/calls?limit=1');
    expect(told).toEqual({ type: 'call', entry: body.entries[0] });
    expect(told).toMatchObject({ entry: { status: 404, path: '/connections/cnothing' } });
  });

  it('reports that time was advanced, frozen or started', async () => {
    await hook.call('POST', '/clock/freeze');
    const { body } = await hook.call('POST', '/clock/advance', { ms: 86_400_000 });
    await hook.call('POST', '/clock/run');
    const expected = { type: 'clock', now: body.now };
    await reader.find((event) => event.type === 'clock' && event.now === body.now && !event.frozen);
    expect(eventsOf('clock').slice(-3)).toMatchObject([
      { frozen: true },
      { ...expected, frozen: true },
      { ...expected, frozen: false },
    ]);
  });

  it('reports that connections may have changed when time was advanced, because licenses expire', async () => {
    const { length: seen } = await changes();
    await hook.call('POST', '/clock/advance', { ms: 8 * 86_400_000 });
    expect((await changes()).slice(seen)).toContain('connections');
  });

  it('reports which lists changed: by hand, by clients and by timers', async () => {
    const { length: before } = await changes();
    const text = { connectionId: hook.connectionId, text: 'hello' };
    await hook.call('POST', '/contacts/491700000008/messages', text);
    const seen = (await changes()).length;
    expect(new Set((await changes()).slice(before))).toEqual(new Set(['contacts', 'messages', 'timers']));
    await hook.call('PUT', '/contacts/491700000007', { deliverAfterMs: 60_000, readAfterMs: null });
    await hook.api('POST', '/messages', {
      connectionId: hook.connectionId,
      to: '491700000007',
      text: 'hello',
    });
    await hook.api('GET', '/connections');
    expect(new Set((await changes()).slice(seen))).toEqual(new Set(['contacts', 'messages', 'timers']));
  });

  it('continues after a reset, with a new ledger', async () => {
    await hook.write();
    await reader.find((event) => event.type === 'ledger' && event.entry.seq === 1);
    const { length: seen } = reader.events;
    await hook.call('POST', '/reset');
    const { body } = await hook.api('GET', '/connections');
    const [{ id: connectionId }] = (body as { connections: [{ id: string }] }).connections;
    await hook.call('POST', '/contacts/491700000009/messages', { connectionId, text: 'after' });
    await reader.find(({ type }, place) => type === 'ledger' && place > seen);
    expect(eventsOf('ledger').map(({ entry }) => entry.seq)).toEqual([1, 1]);
    expect(await changes()).toContain('everything');
  });

  it('of a reader that has left before it begins follows nothing', async () => {
    let following = 0;
    const follow = () => {
      following += 1;
      return () => (following -= 1);
    };
    const { handle } = createEventStreams({
      ...{
        hub: { ...createEventHub(), listen: follow },
        connector: { follow },
        ledger: { follow: async () => follow() },
      },
      ...{ time: hook.service.platform.time, clock: hook.clock },
    } as unknown as Parameters<typeof createEventStreams>[0]);
    const response = new ServerResponse(new IncomingMessage(new Socket())).destroy();
    await handle({} as never, response as never);
    expect(following).toBe(0);
  });

  it('ends permanently when the sandbox ends its streams', async () => {
    const ending = await startTestSandbox();
    onTestFinished(() => ending.close());
    const early = await open(ending);
    ending.sandbox.endStreams();
    await early.ended;
    expect(early.answer.complete).toBe(true);
    const late = await open(ending);
    await late.ended;
    expect(late.answer.complete).toBe(true);
  });
});
