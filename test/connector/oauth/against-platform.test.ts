import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { appSubscriptionId, type OauthApp } from '../../../src/connector/oauth/oauth-app.ts';
import { connectorAccountList, startedGrant } from '../../../src/contract/connector/accounts.ts';
import { startTestSandbox, type TestSandbox } from '../../sandbox/fixture.ts';
import { Browser } from '../../support/browser.ts';
import { ConnectorWorld, type RunningConnector, WEBHOOK_URL } from '../support/running-connector.ts';

const PUBLIC_URL = 'http://127.0.0.1:4020';
const CONTACT = '447700900201';
const MINUTE = 60_000;
let world: ConnectorWorld;
let test: TestSandbox;
let oauth: OauthApp;
let running: RunningConnector;
let stopBefore = async (): Promise<void> => undefined;
let connectionId: string;
let accountId: string;

beforeAll(async () => {
  world = await ConnectorWorld.open();
  test = await startTestSandbox({ clock: world.clock, sendScale: 0 });
  const { workspace } = (await test.call('POST', '/workspaces', { kind: 'standalone' })).body;
  const number = { provider: 'qr', phoneNumber: '447700900150' };
  const made = await test.call('POST', `/workspaces/${workspace.id}/connections`, number);
  connectionId = made.body.connection.id;
  const app = await test.call('POST', '/oauth-apps', {
    name: 'CRM',
    redirectUris: [`${PUBLIC_URL}/oauth/callback`],
    scopes: ['messaging.read', 'messaging.send', 'messaging.events', 'messaging.manage'],
    ownerWorkspaceId: workspace.id,
  });
  const { clientId, clientSecret } = app.body;
  const { origin } = test.service;
  oauth = { authUrl: origin, baseUrl: `${origin}/api/v1`, publicUrl: PUBLIC_URL, clientId, clientSecret };
  await startWithSecret();
});
afterAll(async () => {
  await world.close();
  await test.close();
});
beforeEach(async () => {
  accountId = await consent();
});
afterEach(async () => {
  await test.call('DELETE', '/faults');
  await running.ask('DELETE', `/v1/accounts/${accountId}`);
  await running.connector.settle();
});

/** The developer writes the connector's path into the registration of the app, and its new secret into the settings. */
async function startWithSecret(): Promise<void> {
  await test.call('PUT', '/hosts/crm.example', { target: 'http://127.0.0.1:1' });
  const url = `${WEBHOOK_URL}/${appSubscriptionId(oauth)}`;
  const { body } = await test.call('PUT', `/oauth-apps/${oauth.clientId}/webhook`, { url });
  expect(body).toEqual({ webhookUrl: url, webhookSecret: expect.any(String) });
  await stopBefore();
  running = await world.start({ oauth: { ...oauth, webhookSecret: body.webhookSecret } });
  stopBefore = () => running.stop();
  await test.call('PUT', '/hosts/crm.example', { target: running.url });
}

/** The customer's browser goes to the service and comes back. */
async function consent(body: object = {}): Promise<string> {
  const answer = await running.ask('POST', '/v1/accounts/oauth', { body });
  const { authorizationUrl } = startedGrant.parse(answer.body);
  const browser = new Browser({ [PUBLIC_URL]: () => running.url });
  const page = await browser.follow(await browser.goOn(authorizationUrl));
  expect([page.status, page.url.startsWith(`${PUBLIC_URL}/oauth/callback?`)]).toEqual([200, true]);
  expect(page.text).toContain('<li>+447700900150');
  await running.runPolls();
  const { accounts } = connectorAccountList.parse((await running.ask('GET', '/v1/accounts')).body);
  return accounts.find(({ kind }) => kind === 'oauth')?.id ?? '';
}

async function write(text: string): Promise<string> {
  const { body } = await test.call('POST', `/contacts/${CONTACT}/messages`, { connectionId, text });
  await test.service.platform.settle();
  await running.connector.settle();
  return body.messageId;
}

const shown = async (messageId: string) => (await running.ask('GET', `/v1/messages/${messageId}`)).body;
const stateOf = async () => {
  const { accounts } = connectorAccountList.parse((await running.ask('GET', '/v1/accounts')).body);
  return accounts.find(({ id }) => id === accountId)?.state;
};
const poll = () => running.poll(accountId);
/** The access token ends, by the service's clock. */
const expireToken = () => test.call('POST', '/clock/advance', { ms: 16 * MINUTE });
const faultTokenEndpoint = (type: string) =>
  test.call('PUT', '/faults', {
    rules: [{ id: 'f', match: { surface: 'oauth', path: '/oauth/token' }, action: { type }, first: 1 }],
  });

describe('an OAuth account of the service', () => {
  it('receives webhooks, polls, and refreshes its token when it has expired', async () => {
    expect(await shown(await write('by webhook'))).toMatchObject({
      text: 'by webhook',
      firstSeenBy: 'webhook',
    });
    await expireToken();
    expect((await running.ask('POST', '/v1/sync', { body: { accountId } })).status).toBe(200);
    const { entries } = (await test.call('GET', '/grants?limit=1')).body;
    expect(entries).toMatchObject([{ refreshes: 1, revokedAt: null }]);
  });

  it('ends if a lost answer has rotated its token, and misses nothing after a new consent', async () => {
    await expireToken();
    await faultTokenEndpoint('lost_answer');
    await poll();
    expect(await stateOf()).toBe('reauth_required');
    expect((await test.call('GET', '/grants?limit=1')).body.entries).toMatchObject([
      { refreshes: 1, revokedAt: expect.any(String) },
    ]);
    await test.call('DELETE', '/faults');
    await test.call('PUT', '/faults', {
      rules: [{ id: 'd', match: { surface: 'webhook' }, action: { type: 'drop' }, per: 'event' }],
    });
    const missed = await write('while nobody could read');
    await poll();
    expect((await shown(missed))['error']).toBe('not_found');
    expect(await consent({ accountId })).toBe(accountId);
    expect(await stateOf()).toBe('active');
    expect(await shown(missed)).toMatchObject({ text: 'while nobody could read', firstSeenBy: 'poll' });
  });

  it('never sets or rotates a webhook, which might belong to the customer', async () => {
    const rotated = await running.ask('POST', '/v1/webhook/rotate', { body: { accountId } });
    expect(rotated).toMatchObject({ status: 409, body: { error: 'webhook_of_app' } });
    expect(rotated.body['message']).toContain('SERVICE_CLIENT_WEBHOOK_SECRET');
    // Another secret, as after a rotation where the app is registered.
    await startWithSecret();
    expect(await shown(await write('after the rotation'))).toMatchObject({ firstSeenBy: 'webhook' });
    await poll();
    const calls = async (path: string) => (await test.call('GET', `/calls?path=${path}`)).body.entries;
    // Every call here is by an access token: the account of the API key is at another service.
    expect((await calls('/connections')).length).toBeGreaterThan(0);
    expect(await calls('/webhook*')).toEqual([]);
  });
});
