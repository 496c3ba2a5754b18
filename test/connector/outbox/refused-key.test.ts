import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Answer, ConnectorWorld, type RunningConnector } from '../support/running-connector.ts';
import type { Fault, ServiceRequest } from '../support/scripted-service.ts';

const DAY = 24 * 3_600_000;
let world: ConnectorWorld;
let running: RunningConnector;
let sent: string[];
let references = 0;

beforeEach(async () => {
  sent = [];
  world = await ConnectorWorld.open();
  world.service.apiKeys.add('key-2');
  world.service.addConnection('c1');
  running = await world.start();
  await running.runPolls();
  world.service.fault = takeSends;
});
afterEach(() => world.close());

/** The service takes sends of good keys. */
function takeSends({ method, path, headers, body }: ServiceRequest): Fault | undefined {
  if (method !== 'POST' || path !== '/messages') return undefined;
  const key = String(headers.authorization).replace('Bearer ', '');
  if (!world.service.apiKeys.has(key)) return { status: 401, body: { error: 'invalid_key' } };
  const { text } = JSON.parse(body);
  sent.push(text);
  return { status: 200, body: { messageId: `m-${text}`, waMessageId: null, status: 'sent' } };
}

async function send(text: string): Promise<string> {
  references += 1;
  const body = { connectionId: 'c1', to: '447700900201', text, reference: `refused-${references}` };
  const answer: Answer = await running.ask('POST', '/v1/messages', { body });
  expect(answer.status).toBe(202);
  await running.connector.settle();
  return String(answer.body['outboundId']);
}
const read = async (id: string) => (await running.ask('GET', `/v1/outbound/${id}`)).body;
const calls = () => world.service.requests.length;
const revoke = () => world.service.apiKeys.delete('key-1');
/** A process that has another key in its settings, and does not poll. */
const renew = async () => {
  const service = { baseUrl: world.service.baseUrl, apiKey: 'key-2' };
  const next = await world.start({ service, role: 'web' });
  await next.stop();
};
/** A process that hears nothing of its own clock for long counts as gone: it is heard again in the seconds after. */
const pass = async (ms: number) => {
  world.clock.jump(ms);
  for (let second = 0; second < 12; second += 1) {
    await world.clock.advance(1_000);
    await running.connector.settle();
  }
};

describe('sends of an account whose key is refused', () => {
  it('wait, are not attempted, and go out in order with a valid key', async () => {
    revoke();
    const first = await send('one');
    expect(await read(first)).toMatchObject({ state: 'queued', lastError: 'invalid_key', attempts: 1 });
    const asked = calls();
    const second = await send('two');
    await pass(60_000);
    expect(await read(second)).toMatchObject({ state: 'queued', attempts: 0 });
    expect(calls()).toBe(asked);
    expect((await running.ask('GET', '/v1/accounts')).body['accounts']).toMatchObject([
      { state: 'credential_refused' },
    ]);

    await renew();
    await pass(10_000);
    expect(sent).toEqual(['one', 'two']);
    expect(await read(first)).toMatchObject({ state: 'sent', messageId: 'm-one' });
    expect(await read(second)).toMatchObject({ state: 'sent', messageId: 'm-two' });
  });

  it('go out after days: their time begins with the first attempt with a valid key', async () => {
    revoke();
    const id = await send('patient');
    await pass(3 * DAY);
    expect(await read(id)).toMatchObject({ state: 'queued', lastError: 'invalid_key' });
    await renew();
    await pass(10_000);
    expect(await read(id)).toMatchObject({ state: 'sent' });
    expect(sent).toEqual(['patient']);
  });

  it('whose earlier answer was lost keep the deadline of their key', async () => {
    const answers: Fault[] = ['reset'];
    world.service.fault = (request) =>
      request.path === '/messages' && request.method === 'POST'
        ? (answers.shift() ?? takeSends(request))
        : undefined;
    const id = await send('in doubt');
    revoke();
    await pass(10_000);
    // A poll or the next attempt finds the key refused.
    expect(await read(id)).toMatchObject({ state: 'queued' });
    await pass(DAY);
    await renew();
    const { fault } = world.service;
    world.service.fault = (request) => (request.method === 'GET' ? 'reset' : fault(request));
    await pass(10_000);
    // The clock of a process alone does not decide that the time of the key is over.
    expect(await read(id)).toMatchObject({ state: 'queued' });
    world.service.fault = fault;
    await pass(60_000);
    await running.poll();
    await pass(10_000);
    expect(await read(id)).toMatchObject({ state: 'unknown' });
    expect(sent).toEqual([]);
  });
});
