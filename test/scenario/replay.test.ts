import { describe, expect, it, vi } from 'vitest';
import { record, replay, type Target } from '../../src/scenario/replay.ts';
import { readScenario, type Scenario, writeScenario } from '../../src/scenario/scenario.ts';
import { shrink } from '../../src/scenario/shrink.ts';
import { scenarioWorld } from './scenario-world.ts';

const CONTACT = '447700900201';
const world = scenarioWorld();
const { loop, target } = world;

const send = (method: string, path: string, body?: object) =>
  target.call({ method, path, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });

/** A recording, as read from its file. */
async function recordFile(): Promise<Scenario> {
  await loop.loop.settle();
  return readScenario(writeScenario((await record(target.call)).scenario));
}

/** A connector that shows every read message as only delivered. */
function withWrongConnector(): Target {
  return {
    ...target,
    async call(request) {
      const answer = await target.call(request);
      if (!request.path.startsWith('/connector/v1/messages?')) return answer;
      return JSON.parse(JSON.stringify(answer).replaceAll('"status":"read"', '"status":"delivered"'));
    },
  };
}

/** A dropped webhook, a conversation and a new number, over 26 hours. */
async function runLoop(): Promise<void> {
  const connectionId = await world.client.qrConnection();
  await world.client.dropWebhooks();
  await world.client.write(connectionId, 'Anybody there?');
  await world.client.clearFaults();
  await send('POST', '/connector/v1/messages', { connectionId, to: CONTACT, text: 'Yes', reference: '1' });
  await loop.loop.settle();
  await send('POST', '/sandbox/v1/clock/advance', { ms: 26 * 60 * 60 * 1000 });
  const created = (await send('POST', '/service/connections', { label: 'New' })) as {
    connection: { id: string };
  };
  const { id } = created.connection;
  await send('POST', `/sandbox/v1/connections/${id}/scan`, { phoneNumber: '447700900177' });
  await world.client.write(id, 'To the new number');
}

describe('a scenario', () => {
  it('repeats the causes with other ids, without a difference', async () => {
    await runLoop();
    const scenario = await recordFile();
    expect(scenario.causes.map(({ method, surface, path }) => `${method} /${surface}${path}`)).toEqual([
      'PUT /sandbox/faults',
      'POST /sandbox/contacts/447700900201/messages',
      'DELETE /sandbox/faults',
      'POST /connector/v1/messages',
      'POST /sandbox/clock/advance',
      'POST /service/connections',
      'POST /sandbox/connections/$connection2/scan',
      'POST /sandbox/contacts/447700900201/messages',
    ]);
    expect(scenario.observations).toEqual([
      {
        observed: 'message',
        connection: '447700900101',
        direction: 'incoming',
        peer: CONTACT,
        nth: 1,
        text: 'Anybody there?',
        status: 'delivered',
        deliveries: ['message.received: dropped'],
      },
      {
        observed: 'message',
        connection: '447700900101',
        direction: 'outgoing',
        peer: CONTACT,
        nth: 1,
        text: 'Yes',
        status: 'read',
        deliveries: [
          'message.status delivered: delivered',
          'message.status read: delivered',
          'message.status sent: delivered',
        ],
      },
      {
        observed: 'message',
        connection: '447700900177',
        direction: 'incoming',
        peer: CONTACT,
        nth: 1,
        text: 'To the new number',
        status: 'delivered',
        deliveries: ['message.received: delivered'],
      },
      {
        observed: 'connection',
        connection: '447700900101',
        status: 'connected',
        licenseStatus: 'active',
        needsReconnect: false,
      },
      {
        observed: 'connection',
        connection: '447700900177',
        status: 'connected',
        licenseStatus: 'trial',
        needsReconnect: false,
      },
    ]);
    expect((await replay(scenario, target)).differences).toEqual([]);
  });

  it('begins once the connector has read the list of connections, and shows what the service did differently, with the cause', async () => {
    await world.client.write(await world.client.qrConnection(), 'Hello');
    const scenario = await recordFile();
    const [message, ...rest] = scenario.observations;
    const other = { ...scenario, observations: [{ ...message, text: 'Goodbye' }, ...rest] } as Scenario;
    const calls: string[] = [];
    const call: Target['call'] = (request) => {
      calls.push(`${request.method} ${request.path}`);
      return target.call(request);
    };
    const onCause = (): void => void calls.push('cause');
    expect((await replay(other, { ...target, call }, { onCause })).differences).toEqual([
      {
        of: 'incoming message 1 from 447700900201 of 447700900101',
        field: 'text',
        expected: 'Goodbye',
        actual: 'Hello',
        cause: 1,
      },
    ]);
    expect(calls.slice(0, calls.indexOf('cause'))).toContain('POST /connector/v1/sync');
  });

  it('names the last cause of the same connection, and not of one whose name begins in the same way', async () => {
    await world.client.write(await world.client.qrConnection(), 'Hello');
    const scenario = await recordFile();
    const [cause] = scenario.causes;
    const { $connection1: own } = scenario.names;
    if (cause === undefined || own === undefined) throw new Error('nothing was recorded');
    const another = JSON.parse(JSON.stringify(cause).replaceAll('$connection1', '$connection10'));
    const [message, ...rest] = scenario.observations;
    const { differences } = await replay(
      {
        ...scenario,
        names: { ...scenario.names, $connection10: { phoneNumber: '447700900102', nth: 1 } },
        causes: [cause, { ...another, cause: 2 }],
        observations: [{ ...message, text: 'Goodbye' }, ...rest] as Scenario['observations'],
      },
      target,
    );
    expect(differences).toContainEqual(expect.objectContaining({ field: 'text', actual: 'Hello', cause: 1 }));
  });

  it('shows a message that was not recorded, and nothing of a connection that was not; it leaves no fault', async () => {
    await world.client.dropWebhooks();
    await world.client.write(await world.client.qrConnection(), 'Hello');
    const scenario = await recordFile();
    const observations = scenario.observations.filter(({ observed }) => observed === 'connection');
    expect(observations.map(({ connection }) => connection)).toEqual(['447700900101']);
    expect((await replay({ ...scenario, observations }, target)).differences).toEqual([
      {
        of: 'incoming message 1 from 447700900201 of 447700900101',
        field: 'existence',
        expected: 'does not exist',
        actual: 'exists',
        cause: 2,
      },
    ]);
    expect(await send('GET', '/sandbox/v1/faults')).toMatchObject({ rules: [] });
  });

  it('shows a cause that is refused in the replay, and continues with the next one', async () => {
    const connectionId = await world.client.qrConnection();
    await send('POST', `/sandbox/v1/connections/${connectionId}/outage`, { cause: 'session_lost' });
    await send('POST', `/sandbox/v1/connections/${connectionId}/recover`);
    const scenario = await recordFile();
    const [, ...causes] = scenario.causes;
    expect((await replay({ ...scenario, causes }, target)).differences).toEqual([
      {
        of: 'cause 2: POST /sandbox/v1/connections/$connection1/recover',
        field: 'response',
        expected: 'success',
        actual: expect.stringMatching(/^wrong_state: /),
        cause: 2,
      },
    ]);
  });

  it('ends before the next cause when it is interrupted', async () => {
    await runLoop();
    const scenario = await recordFile();
    const over = new AbortController();
    const onCause = vi.fn(() => over.abort(new Error('It was interrupted.')));
    await expect(replay(scenario, target, { onCause, signal: over.signal })).rejects.toThrow('interrupted');
    expect(onCause).toHaveBeenCalledOnce();
  });

  it('is shrunk to the causes of a failure, which reproduce it until it is fixed', async () => {
    const connectionId = await world.client.qrConnection();
    await send('POST', '/connector/v1/messages', { connectionId, to: CONTACT, text: 'Yes', reference: '1' });
    await loop.loop.settle();
    await send('POST', '/sandbox/v1/clock/advance', { ms: 5_000 });
    const scenario = await recordFile();
    const wrong = withWrongConnector();
    const small = await shrink(scenario, (one) => replay(one, wrong, { patienceMs: 0 }));
    if (small === null) throw new Error('the scenario shows no difference');
    expect(small.causes.map(({ path }) => path)).toEqual(['/v1/messages']);
    expect(small.names).toEqual({ $connection1: { phoneNumber: '447700900101', nth: 1 } });
    const read = {
      of: 'outgoing message 1 to 447700900201 of 447700900101, in the connector',
      field: 'status',
      expected: 'read',
      actual: 'delivered',
      cause: 1,
    };
    expect((await replay(small, wrong, { patienceMs: 0 })).differences).toEqual([read]);
    expect((await replay(small, target)).differences).toEqual([]);
  });

  it('is shrunk to what leads to the refusal of a cause, and not to another refusal', async () => {
    await send('POST', '/service/connections', {});
    const { id } = (
      (await send('POST', '/service/connections', { label: 'New' })) as { connection: { id: string } }
    ).connection;
    await send('POST', `/sandbox/v1/connections/${id}/scan`, { phoneNumber: '447700900177' });
    await send('POST', `/sandbox/v1/connections/${id}/outage`, { cause: 'session_lost' });
    await send('POST', `/sandbox/v1/connections/${id}/recover`);
    const scenario = await recordFile();
    const last = scenario.causes.at(-1);
    if (last === undefined) throw new Error('nothing was recorded');
    const causes = [...scenario.causes, { ...last, cause: 6 }];
    const small = await shrink({ ...scenario, causes }, (one) => replay(one, target, { patienceMs: 0 }));
    expect(small?.causes.map(({ cause }) => cause)).toEqual([2, 6]);
  });
});

describe('a recording', () => {
  it('contains what differs in the connector, and ids of unknown origin', async () => {
    const connectionId = await world.client.qrConnection();
    await send('POST', '/connector/v1/messages', { connectionId, to: CONTACT, text: 'Yes', reference: '1' });
    await loop.loop.settle();
    await send('POST', '/sandbox/v1/clock/advance', { ms: 5_000 });
    await loop.sandbox('PUT', `/contacts/${CONTACT}`, { autoReply: 'cneverseen00000000000000x' });
    await loop.loop.settle();
    const { differences, unknownIds } = await record(withWrongConnector().call);
    expect(differences).toMatchObject([{ field: 'status', expected: 'read', actual: 'delivered' }]);
    expect(unknownIds).toEqual(['cneverseen00000000000000x']);
  });

  it('starts again at each reset, and omits what is older than requested', async () => {
    const connectionId = await world.client.qrConnection();
    await world.client.write(connectionId, 'Long ago');
    await send('POST', '/sandbox/v1/clock/advance', { ms: 60 * 60 * 1000 });
    await world.client.write(connectionId, 'Now');
    const { scenario } = await record(target.call, 5 * 60 * 1000);
    expect(scenario).toMatchObject({ complete: false, causes: [{ body: { text: 'Now' } }] });
    await loop.sandbox('POST', '/reset');
    expect((await record(target.call)).scenario).toMatchObject({
      complete: true,
      causes: [],
      observations: [],
    });
  });
});
