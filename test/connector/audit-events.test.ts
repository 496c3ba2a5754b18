import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AUDIT_EVENTS, type AuditEvent } from '../../src/connector/audit/audit.ts';
import type { ConnectorOptions } from '../../src/connector/connector.ts';
import { deleteConsumer } from '../../src/connector/consumers/manage-consumers.ts';
import { appSubscriptionId } from '../../src/connector/oauth/oauth-app.ts';
import { logTo } from '../support/log-to.ts';
import { useGrants } from './oauth/grant-world.ts';
import { ConnectorWorld, type RunningConnector, TOKEN } from './support/running-connector.ts';

type Line = Readonly<Record<string, unknown>>;

const lines: Line[] = [];
const logger = logTo('info', (line) => lines.push(JSON.parse(line) as Line));
const grants = useGrants({ logger });

/** What no line may hold, by the names of the tests. */
const READS = 'token-that-may-read-0123456789';
const secrets = (): string[] => [
  ...[READS, TOKEN, 'key-1', 'key-2', 'key-of-another', 'guessed-token', 'client-secret-1'],
  ...['by-hand-', 'app-webhook-secret', 'access-', 'refresh-', 'code-'],
  grants.world.secret,
];

let running: RunningConnector;
beforeEach(() => {
  lines.length = 0;
  running = grants.running;
});
afterEach(() => {
  const said = JSON.stringify(lines.filter(({ msg }) => msg === 'audit'));
  expect(secrets().filter((secret) => secret === '' || said.includes(secret))).toEqual([]);
});

/** The lines of these events, without what every line of the log has. */
const trail = (...events: AuditEvent[]) =>
  lines.flatMap(({ level, time, name, msg, ...facts }) =>
    msg === 'audit' && events.includes(facts['event'] as AuditEvent) ? [facts] : [],
  );
/** What was said of accounts. */
const ofAccounts = () => trail('account.added', 'account.changed', 'account.removed');

/** Starts a process, and stops it. */
async function startOnce(options: Partial<ConnectorOptions>, world = grants.world): Promise<void> {
  await (await world.start({ logger, ...options })).stop();
}
/** Runs with a database and a service of its own, where no other process names other settings meanwhile. */
async function alone(
  run: (
    world: ConnectorWorld,
    named: (apiKey: string, baseUrl?: string) => Partial<ConnectorOptions>,
  ) => Promise<void>,
): Promise<void> {
  const world = await ConnectorWorld.open();
  world.service.apiKeys.add('key-2');
  const named = (apiKey: string, baseUrl = world.service.baseUrl) => ({ service: { baseUrl, apiKey } });
  await run(world, named).finally(() => world.close());
}
async function addAccount(): Promise<string> {
  grants.world.service.apiKeys.add('key-of-another');
  const { baseUrl } = grants.world.service;
  const { body } = await running.ask('POST', '/v1/accounts', { body: { baseUrl, apiKey: 'key-of-another' } });
  return String(body['id']);
}
async function removeAccount(id: string): Promise<void> {
  expect((await running.ask('DELETE', `/v1/accounts/${id}`)).status).toBe(200);
}

/** Creates a consumer that does not exist yet. */
async function createConsumer(): Promise<void> {
  await deleteConsumer(grants.world.database, 'crm');
  const body = { name: 'crm', kind: 'http', url: 'https://93.184.215.14/changes' };
  expect((await running.ask('POST', '/v1/consumers', { body })).status).toBe(201);
}

/** How each event comes about, and the one line that it leaves. */
const SCENARIOS: Record<AuditEvent, () => Promise<Line>> = {
  async 'account.added'() {
    const id = await addAccount();
    await removeAccount(id);
    return { who: 'CONNECTOR_API_TOKEN', id, result: 'ok' };
  },
  async 'account.changed'() {
    await alone(async (world, named) => {
      await startOnce(named('key-1'), world);
      lines.length = 0;
      await startOnce(named('key-2'), world);
    });
    return { who: 'settings', what: ['SERVICE_API_KEY'], id: 'default', result: 'ok' };
  },
  async 'account.removed'() {
    const id = await addAccount();
    await removeAccount(id);
    return { who: 'CONNECTOR_API_TOKEN', id, result: 'ok' };
  },
  async 'connection.deleted'() {
    await running.ask('DELETE', '/v1/connections/c-unknown?accountId=default');
    return { who: 'CONNECTOR_API_TOKEN', id: 'c-unknown', result: 'not_found' };
  },
  async 'consent.begun'() {
    await grants.begin();
    return { who: 'CONNECTOR_API_TOKEN', result: 'ok' };
  },
  async 'consent.finished'() {
    const id = await grants.connect();
    return { what: 'GET /oauth/callback', id, result: 'ok', address: '127.0.0.1' };
  },
  async 'consent.refused'() {
    const { authorizationUrl } = await grants.begin();
    const state = new URL(authorizationUrl).searchParams.get('state') ?? '';
    const denial = new URLSearchParams({ error: 'access_denied', state, iss: grants.auth.url });
    await grants.comeBack(denial.toString());
    return { what: 'GET /oauth/callback', result: 'access_denied', address: '127.0.0.1' };
  },
  async 'consumer.created'() {
    await createConsumer();
    return { who: 'CONNECTOR_API_TOKEN', id: 'crm', result: 'ok' };
  },
  async 'consumer.changed'() {
    await createConsumer();
    await running.ask('PATCH', '/v1/consumers/crm', { body: { batch: 2 } });
    return { who: 'CONNECTOR_API_TOKEN', id: 'crm', result: 'ok' };
  },
  async 'consumer.paused'() {
    await running.ask('POST', '/v1/consumers/nobody/pause');
    return { who: 'CONNECTOR_API_TOKEN', id: 'nobody', result: 'not_found' };
  },
  async 'consumer.resumed'() {
    await createConsumer();
    await running.ask('POST', '/v1/consumers/crm/resume');
    return { who: 'CONNECTOR_API_TOKEN', id: 'crm', result: 'ok' };
  },
  async 'consumer.replayed'() {
    await createConsumer();
    await running.ask('POST', '/v1/consumers/crm/replay', { body: { from: 'now' } });
    return { who: 'CONNECTOR_API_TOKEN', id: 'crm', result: 'ok' };
  },
  async 'consumer.deleted'() {
    await createConsumer();
    await running.ask('DELETE', '/v1/consumers/crm');
    return { who: 'CONNECTOR_API_TOKEN', id: 'crm', result: 'ok' };
  },
  async 'dead_letter.given_up'() {
    await running.ask('DELETE', '/v1/dead-letters/abc-1');
    return { who: 'CONNECTOR_API_TOKEN', id: 'abc-1', result: 'not_found' };
  },
  async 'dead_letter.replayed'() {
    await running.ask('POST', '/v1/dead-letters/abc-1/replay');
    return { who: 'CONNECTOR_API_TOKEN', id: 'abc-1', result: 'not_found' };
  },
  async 'person.erased'() {
    await running.ask('DELETE', '/v1/people/5511987654321');
    return { who: 'CONNECTOR_API_TOKEN', result: 'ok' };
  },
  async 'secret.rotated'() {
    const { status } = await running.ask('POST', '/v1/webhook/rotate', { body: { accountId: 'default' } });
    expect(status).toBe(200);
    return { who: 'CONNECTOR_API_TOKEN', id: 'default', result: 'ok' };
  },
  async 'token.lacks_right'() {
    const reader = await grants.world.start({
      apiTokens: [{ name: 'reader', rights: ['read'], token: READS }],
      role: 'web',
      logger,
    });
    await reader.ask('POST', '/v1/sync', { token: READS, body: {} });
    await reader.stop();
    return { who: 'reader', what: 'POST /v1/sync', result: 'operate', address: '127.0.0.1' };
  },
  async 'token.refused'() {
    await running.ask('GET', '/v1/accounts', { token: 'guessed-token' });
    return { what: 'GET /v1', result: 'unknown_token', address: '127.0.0.1' };
  },
  async 'tool.called'() {
    const params = { name: 'health', arguments: {} };
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    const headers = { accept: 'application/json, text/event-stream' };
    expect((await running.ask('POST', '/mcp', { body, headers })).status).toBe(200);
    return { who: 'CONNECTOR_API_TOKEN', what: 'health', result: 'ok' };
  },
  async 'tokens.loaded'() {
    await startOnce({});
    return { who: 'settings', what: ['CONNECTOR_API_TOKEN read+write+operate+metrics'], result: 'ok' };
  },
  async 'webhook.signature_refused'() {
    const body = { event: 'message.status' };
    expect((await running.ask('POST', '/webhooks/messaging', { body })).status).toBe(401);
    return { id: expect.any(String) as unknown, result: 'missing_header', address: '127.0.0.1' };
  },
};

describe('each security event is logged in exactly one line, without a secret', () => {
  it.each(AUDIT_EVENTS)('%s', async (event) => {
    const expected = await SCENARIOS[event]();
    await running.connector.settle();
    expect(trail(event)).toEqual([{ event, ...expected }]);
  });
});

describe('a change of an account is logged in one line', () => {
  it('if the settings change the key, the address or both', () =>
    alone(async (world, named) => {
      await startOnce(named('key-1'), world);
      lines.length = 0;
      const elsewhere = world.service.baseUrl.replace('127.0.0.1', 'localhost');
      await startOnce(named('key-1', elsewhere), world);
      await world.clock.advance(60_000);
      await startOnce(named('key-2'), world);
      await startOnce(named('key-2'), world);
      expect(ofAccounts().map(({ what }) => what)).toEqual([
        ['SERVICE_BASE_URL'],
        ['SERVICE_BASE_URL', 'SERVICE_API_KEY'],
      ]);
    }));

  it('if the service refuses the settings, which replaces nothing', () =>
    alone(async (world, named) => {
      await startOnce(named('key-1'), world);
      lines.length = 0;
      await expect(startOnce(named('key-of-nobody'), world)).rejects.toThrow();
      expect(ofAccounts()).toEqual([
        {
          event: 'account.changed',
          who: 'settings',
          what: 'SERVICE_API_KEY',
          id: 'default',
          result: 'refused',
        },
      ]);
    }));

  it('if the settings change the secret or the address of the webhook', () =>
    alone(async (world) => {
      await startOnce({}, world);
      lines.length = 0;
      await startOnce({ webhookSecret: 'by-hand-1' }, world);
      await startOnce({ webhookSecret: 'by-hand-1' }, world);
      expect(ofAccounts()).toEqual([
        { event: 'account.changed', who: 'settings', what: 'WEBHOOK_SECRET', id: 'default', result: 'ok' },
      ]);
      lines.length = 0;
      await startOnce({ webhookPublicUrl: 'https://moved.example/hook' }, world);
      expect(ofAccounts()).toEqual([
        { event: 'account.changed', what: 'webhook', id: 'default', result: 'ok' },
      ]);
    }));

  it('if a consent adds the account or changes it', async () => {
    const id = await grants.connect();
    expect(ofAccounts()).toEqual([{ event: 'account.added', what: 'consent', id, result: 'ok' }]);
    lines.length = 0;
    await grants.connect({ accountId: id });
    expect(ofAccounts()).toEqual([{ event: 'account.changed', what: 'consent', id, result: 'ok' }]);
  });

  it('if the settings of the OAuth app change', () =>
    alone(async (world) => {
      const app = grants.auth.app(world.service.baseUrl);
      const id = appSubscriptionId(app);
      await startOnce({ oauth: app }, world);
      lines.length = 0;
      grants.auth.clientSecret = 'client-secret-12';
      const oauth = { ...app, clientSecret: 'client-secret-12', webhookSecret: 'by-hand-app' };
      await startOnce({ oauth }, world).finally(() => {
        grants.auth.clientSecret = app.clientSecret;
      });
      const told = { event: 'account.changed', who: 'settings', id, result: 'ok' };
      expect(ofAccounts()).toEqual([
        { ...told, what: 'SERVICE_CLIENT_WEBHOOK_SECRET' },
        { ...told, what: ['the settings of the OAuth app'] },
      ]);
    }));

  it('for each part of the first start: the account, its credential and its webhook', () =>
    alone(async (world) => {
      await startOnce({}, world);
      await startOnce({}, world);
      expect(ofAccounts().map(({ event, who, what, id }) => [event, who, what, id])).toEqual([
        ['account.added', 'settings', undefined, 'default'],
        ['account.changed', 'settings', ['SERVICE_BASE_URL', 'SERVICE_API_KEY'], 'default'],
        ['account.changed', undefined, 'webhook', 'default'],
      ]);
    }));
});
