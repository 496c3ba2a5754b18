import { createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ConnectorOptions } from '../../../src/connector/connector.ts';
import { connectorAccount, connectorAccountList } from '../../../src/contract/connector/accounts.ts';
import { syncStatus } from '../../../src/contract/connector/sync.ts';
import { serve } from '../../support/serve.ts';
import { connectorOfFile, type RunningConnector, WEBHOOK_URL } from '../support/running-connector.ts';
import { ScriptedService, type ServiceMessage } from '../support/scripted-service.ts';

const KEY = 'key-of-the-second';
const { world, running } = connectorOfFile(({ service }) => {
  service.addConnection('c1');
  return {};
});
let second: ScriptedService;
beforeEach(async () => {
  await world.clock.advance(1_000);
  second = await ScriptedService.start();
  second.secretPrefix = 'of-the-second-';
  second.apiKeys.clear();
  second.apiKeys.add(KEY);
  second.addConnection('c2');
});
afterEach(async () => {
  for (const { id } of await listed()) if (id !== 'default') await remove(id);
  await second.close();
});

const add = (body: object = { baseUrl: second.baseUrl, apiKey: KEY }) =>
  running.ask('POST', '/v1/accounts', { body });
const remove = (id: string) => running.ask('DELETE', `/v1/accounts/${id}`);
const listed = async (connector = running) =>
  connectorAccountList.parse((await connector.ask('GET', '/v1/accounts')).body).accounts;

async function added() {
  const answer = await add();
  expect(answer.status).toBe(201);
  return connectorAccount.strict().parse(answer.body);
}

let number = 0;
/** A message of the second service, with an id that no other test uses. */
function arrive(): ServiceMessage {
  number += 1;
  return second.addMessage('c2', world.clock.now(), { id: `arrived-${number}` });
}

function received(message: ServiceMessage): object {
  const { id, text, createdAt: timestamp } = message;
  const content = {
    id,
    wa_id: null,
    from: '15551234567',
    text,
    media_url: null,
    media_type: null,
    timestamp,
  };
  return { event: 'message.received', connection_id: message.connectionId, message: content };
}

describe('an account that is added', () => {
  it('is shown with its slots and its own webhook path, to which the service delivers', async () => {
    const account = await added();
    expect(account).toMatchObject({
      kind: 'api_key',
      baseUrl: second.baseUrl,
      state: 'active',
      webhookPath: `/webhooks/messaging/${account.subscriptionId}`,
      webhookUrl: `${WEBHOOK_URL}/${account.subscriptionId}`,
      secretInDoubt: false,
      quota: {
        slots: { total: 5, used: 2, available: 3, nextExpiry: '2026-02-01T00:00:00.000Z' },
        connections: { total: 2, connected: 2, needsReconnect: 0 },
      },
    });
    expect(second.webhook?.url).toBe(account.webhookUrl);
    expect(world.service.webhook?.url).toBe(WEBHOOK_URL);
    const licenseExpires = new Date(world.clock.now() + 3 * 24 * 3_600_000).toISOString();
    second.addConnection('soon', { licenseExpires });
    await running.ask('POST', '/v1/sync');
    expect((await listed()).map(({ id, endingLicenses }) => [id, endingLicenses])).toEqual([
      ['default', []],
      [account.id, [{ connectionId: 'soon', licenseExpires }]],
    ]);
    const available = async () =>
      new RegExp(`connector_slots\\{account="${account.id}",state="available"\\} (\\d+)`).exec(
        String((await running.ask('GET', '/metrics')).body['text']),
      )?.[1];
    expect(await available()).toBe('3');
    second.account.slots.available = 2;
    const sync = () => running.ask('POST', '/v1/sync', { body: { accountId: account.id } });
    await world.clock.skip(4 * 60_000);
    await sync();
    expect(await available()).toBe('3');
    await world.clock.skip(60_000);
    await sync();
    expect(await available()).toBe('2');
  });

  it('is stored only if the service accepts its key', async () => {
    const refused = await add({ baseUrl: second.baseUrl, apiKey: 'wrong' });
    expect([refused.status, refused.body['error']]).toEqual([502, 'service_refused']);
    expect(refused.body['message']).toContain('invalid_key');
    second.fault = () => ({ status: 429, body: { error: 'rate_limited' }, headers: { 'retry-after': '7' } });
    const limited = await add();
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '7']);
    second.fault = () => 'reset';
    expect((await add()).body['error']).toBe('service_unreachable');
    expect(await listed()).toHaveLength(1);
  });

  it('is refused if the key already exists or is malformed', async () => {
    const { id } = await added();
    const again = await add();
    expect([again.status, again.body['error']]).toEqual([409, 'account_exists']);
    expect(again.body['message']).toContain(id);
    expect((await add({ baseUrl: world.service.baseUrl, apiKey: 'key-1' })).status).toBe(409);
    const asked = second.requests.length;
    for (const body of [
      { baseUrl: second.baseUrl, apiKey: 'two words' },
      { baseUrl: second.baseUrl.replace('http://', 'http://user:password@'), apiKey: 'k' },
      { baseUrl: 'ftp://service.example', apiKey: 'k' },
      { baseUrl: 'http://service.example/api/v1', apiKey: 'k' },
      { baseUrl: 'http://127.0.0.1.example/api/v1', apiKey: 'k' },
      { baseUrl: 'http://10.0.0.1/api/v1', apiKey: 'k' },
      { baseUrl: second.baseUrl },
    ]) {
      expect((await add(body)).status).toBe(400);
    }
    expect(second.requests).toHaveLength(asked);
  });

  it('is created once by two concurrent requests', async () => {
    const answers = await Promise.all([add(), add()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
    expect(await listed()).toHaveLength(2);
  });

  it('receives deliveries at its own path, signed with its own secret', async () => {
    const account = await added();
    const message = arrive();
    const secret = second.webhook?.secret ?? '';
    const deliver = (path: string, key: string) => running.deliver(received(message), key, undefined, path);
    // A failed check reads secrets again, four times a second at most.
    await world.clock.advance(1_000);
    expect((await deliver('/webhooks/messaging', secret)).status).toBe(401);
    await world.clock.advance(1_000);
    expect((await deliver(account.webhookPath, world.secret)).status).toBe(401);
    expect((await deliver(account.webhookPath, secret)).status).toBe(200);
    expect((await running.ask('GET', `/v1/messages/${message.id}`)).body['connectionId']).toBe('c2');
  });

  it('is polled with its own key by every process from then on', async () => {
    const other = await world.start();
    const { id } = await added();
    const message = arrive();
    expect(running.notifier.notified).toContainEqual({ topic: 'poll', key: id, delayMs: 0 });
    await other.poll(id);
    expect((await running.ask('GET', `/v1/messages/${message.id}`)).body['firstSeenBy']).toBe('poll');
    await other.stop();
  });

  it('must be named if a call concerns one account', async () => {
    const { id } = await added();
    const rotate = (body: object) => running.ask('POST', '/v1/webhook/rotate', { body });
    expect((await rotate({})).body['error']).toBe('account_required');
    expect((await rotate({ accountId: 'none' })).status).toBe(404);
    const before = world.secret;
    running.notifier.notified = [];
    expect((await rotate({ accountId: id })).status).toBe(200);
    expect(world.secret).toBe(before);
    // A poll follows, which repairs what nobody could verify meanwhile.
    expect(running.notifier.notified).toEqual([{ topic: 'poll', key: id, delayMs: 1_000 }]);
  });
});

it('a rotation whose answer is lost is reported, and the secret is replaced again at once', async () => {
  const { id } = await added();
  const registered = second.countRequests('/webhook');
  second.fault = ({ path }) =>
    path === '/webhook/rotate' && second.countRequests(path) === 1 ? 'reset' : undefined;
  const { status, body } = await running.ask('POST', '/v1/webhook/rotate', { body: { accountId: id } });
  expect([status, body['error'], body['message']]).toEqual([
    502,
    'service_unreachable',
    expect.stringMatching(/not known which secret is valid.*secretInDoubt/),
  ]);
  await running.connector.settle();
  // By setting its address once more.
  expect(second.countRequests('/webhook')).toBe(registered + 1);
  expect((await listed()).find((account) => account.id === id)).toMatchObject({ secretInDoubt: false });
});

describe('the address of an added service', () => {
  /** What `POST /v1/accounts` answers for an address. */
  const told = async (baseUrl: string, by: RunningConnector = running) => {
    const { status, body } = await by.ask('POST', '/v1/accounts', { body: { baseUrl, apiKey: KEY } });
    return [status, body['error'], body['message']];
  };
  const NOTHING = [502, 'service_unreachable', 'There is no service at this address.'];
  const NOT_NAMED = [400, 'invalid_request', expect.stringMatching(/CONNECTOR_SERVICE_HOSTS\.$/)];

  it('is never followed to a network other than the one on which it was added', async () => {
    const { id } = await added();
    const [account] = await world.database.query('select network from connector.accounts where id = $1', [
      id,
    ]);
    expect(account).toEqual({ network: 'private' });
    // It was on the internet when it was added, and its name has come to lead to this machine.
    await world.database.query(`update connector.accounts set network = 'public' where id = $1`, [id]);
    const asked = second.requests.length;
    await running.poll(id);
    const { accounts } = syncStatus.parse((await running.ask('GET', `/v1/sync?accountId=${id}`)).body);
    expect(accounts[0]?.lastPoll?.error).toBe('connect');
    expect(second.requests).toHaveLength(asked);
  });

  it('gets the same answer as any other address, whatever listens there', async () => {
    const silent = await serve(createServer((socket) => socket.end()));
    const greeting = await serve(createServer((socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n')));
    for (const address of ['http://127.0.0.1:1', silent.url, greeting.url]) {
      expect(await told(`${address}/api/v1`)).toEqual(NOTHING);
    }
    for (const answer of [
      { status: 200, body: '<html>' },
      { status: 200, body: { version: '7.1' } },
      { status: 401, body: 'Log in to this router' },
      { status: 404, body: { error: 'index_not_found_exception' } },
      { status: 301, body: '', headers: { location: 'http://127.0.0.1:1/' } },
      { status: 500, body: 'panic' },
    ]) {
      second.fault = () => answer;
      expect(await told(second.baseUrl)).toEqual(NOTHING);
    }
    await Promise.all([silent.close(), greeting.close()]);
  });

  it('must be one that the settings allow, and no other is called', async () => {
    const service = { baseUrl: world.service.baseUrl, apiKey: 'key-1' };
    const named = await world.start({ service, serviceHosts: ['Other.example:8443'], role: 'web' });
    for (const host of ['169.254.169.254', 'other.example', 'other.example.evil.example', '10.0.0.1']) {
      expect(await told(`https://${host}/api/v1`, named)).toEqual(NOT_NAMED);
    }
    // Named, and not there.
    expect(await told('https://other.example:8443/api/v1', named)).toEqual(NOTHING);
    await named.stop();
  });

  it('must be public if no setting names a service', async () => {
    // As the settings have it: nothing is named.
    const bare = await world.start({ service: undefined, role: 'web' } as unknown as ConnectorOptions);
    expect(await told(second.baseUrl, bare)).toEqual(NOTHING);
    expect(await told('https://localhost/api/v1', bare)).toEqual(NOTHING);
    expect(second.requests).toEqual([]);
    await bare.stop();
  });
});

describe('an account that is removed', () => {
  it('is deleted with its key, its path and its polls, and its messages stay', async () => {
    const account = await added();
    const message = arrive();
    await running.ask('POST', '/v1/sync', { body: { accountId: account.id } });
    expect((await remove(account.id)).body).toEqual({ ok: true });
    expect(await listed()).toHaveLength(1);
    expect((await remove(account.id)).status).toBe(404);
    const asked = second.requests.length;
    await running.poll(account.id);
    expect(second.requests).toHaveLength(asked);
    await world.clock.advance(3_000);
    const secret = second.webhook?.secret ?? '';
    const late = await running.deliver(received(message), secret, undefined, account.webhookPath);
    expect(late.status).toBe(404);
    expect((await running.ask('GET', `/v1/messages/${message.id}`)).status).toBe(200);
    expect((await running.ask('GET', '/v1/connections/c2')).body).toMatchObject({
      visible: false,
      licenseValid: null,
    });
  });

  it('leaves its connections to the next account that lists them', async () => {
    const first = await added();
    await running.ask('POST', '/v1/sync', { body: { accountId: first.id } });
    await remove(first.id);
    const next = await added();
    await running.ask('POST', '/v1/sync', { body: { accountId: next.id } });
    expect((await running.ask('GET', '/v1/connections/c2')).body).toMatchObject({
      accountId: next.id,
      visible: true,
    });
  });

  it('is not written to by a poll in progress', async () => {
    const { id } = await added();
    second.addMessage('c2', world.clock.now(), { id: 'too-late' });
    second.onRequest = async ({ path }) => {
      if (path === '/messages') await remove(id);
    };
    await running.poll(id);
    expect((await running.ask('GET', '/v1/messages/too-late')).status).toBe(404);
    expect(await listed()).toHaveLength(1);
  });

  it('is not the one that the environment configures', async () => {
    const answer = await remove('default');
    expect([answer.status, answer.body['error']]).toEqual([409, 'account_configured']);
    expect(await listed()).toHaveLength(1);
  });
});
