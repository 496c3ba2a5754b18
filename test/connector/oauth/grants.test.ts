import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createSubscriptionSecrets } from '../../../src/connector/accounts/subscription-secrets.ts';
import { examine } from '../../../src/connector/doctor/examine.ts';
import type { DoctorSettings } from '../../../src/connector/doctor/facts.ts';
import type { Report } from '../../../src/connector/doctor/finding.ts';
import { ensureAppSubscription } from '../../../src/connector/oauth/app-subscription.ts';
import { createOauth } from '../../../src/connector/oauth/oauth.ts';
import { appSubscriptionId, type OauthApp } from '../../../src/connector/oauth/oauth-app.ts';
import { connectorAccountList, startedGrant } from '../../../src/contract/connector/accounts.ts';
import { syncStatus } from '../../../src/contract/connector/sync.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';
import { createKeyRing } from '../../../src/runtime/sealing/key-ring.ts';
import { proves } from '../../support/proves.ts';
import { openForDoctor } from '../doctor/examined-system.ts';
import { silentLogger } from '../support/event-fixtures.ts';
import {
  type Answer,
  ConnectorWorld,
  type RunningConnector,
  TOKEN,
  WEBHOOK_URL,
} from '../support/running-connector.ts';
import { ScriptedAuthServer } from '../support/scripted-auth-server.ts';

const MINUTE = 60_000;
const APP_SECRET = 'app-webhook-secret-1';
let world: ConnectorWorld;
let auth: ScriptedAuthServer;
let running: RunningConnector;
/** A process on the same database that serves alone. */
let other: RunningConnector;

beforeAll(async () => {
  world = await ConnectorWorld.open();
  auth = await ScriptedAuthServer.start();
  auth.onAccess = (token, good) => {
    if (good) world.service.apiKeys.add(token);
    else world.service.apiKeys.delete(token);
  };
  const oauth = auth.app(world.service.baseUrl);
  running = await world.start({ oauth });
  other = await world.start({ oauth, role: 'web' });
  // The account of the API key sees the same connections; whoever lists one first has it.
  await runPolls();
});
afterAll(async () => {
  await world.close();
  await auth.close();
});
beforeEach(() => {
  world.service.connections = [];
  world.service.messages = [];
});
afterEach(async () => {
  auth.fault = () => undefined;
  world.service.fault = () => undefined;
  for (const { id, kind } of await listed()) if (kind === 'oauth') await ask('DELETE', `/v1/accounts/${id}`);
  await running.connector.settle();
  await runPolls();
});

/** Polls what either process has asked for. */
async function runPolls(): Promise<void> {
  running.queues.wakes.push(...other.queues.wakes.splice(0));
  await running.runPolls();
}

const ask: RunningConnector['ask'] = (...call) => running.ask(...call);
const listed = async () => {
  const answer = await ask('GET', '/v1/accounts');
  expect(answer).toMatchObject({ status: 200 });
  return connectorAccountList.parse(answer.body).accounts;
};
const accountOf = async (id: string) => (await listed()).find((account) => account.id === id);

async function begin(body?: object) {
  const answer = await ask('POST', '/v1/accounts/oauth', body === undefined ? {} : { body });
  expect(answer.status).toBe(201);
  return startedGrant.strict().parse(answer.body);
}

/** The browser comes back, to any process. */
const comeBack = (query: string, to = other): Promise<Answer> =>
  to.ask('GET', `/oauth/callback?${query}`, { token: null });

async function connect(body?: object): Promise<string> {
  const known = new Set((await listed()).map(({ id }) => id));
  const { authorizationUrl } = await begin(body);
  expect((await comeBack(auth.approve(authorizationUrl))).status).toBe(200);
  await runPolls();
  const added = (await listed()).find(({ id, kind }) => kind === 'oauth' && !known.has(id));
  return added?.id ?? String((body as { accountId?: string } | undefined)?.accountId);
}

async function sync(accountId: string): Promise<Answer> {
  return await ask('POST', '/v1/sync', { body: { accountId } });
}

/** One poll, and the code with which it failed; null: it went through. */
async function poll(accountId: string): Promise<string | null> {
  await running.queues.run('reconcile', { accountId });
  const { body } = await ask('GET', `/v1/sync?accountId=${accountId}`);
  const [account] = syncStatus.parse(body).accounts;
  return account?.lastPoll?.error ?? null;
}

describe('a consent', () => {
  it('begun by one process and finished by another makes an account', async () => {
    world.service.addConnection('consented');
    const started = await begin({ label: 'Bakery', connectionIds: ['a1', 'b2'], scopes: ['messaging.read'] });
    const asked = new URL(started.authorizationUrl);
    expect(started.accountId).toBeNull();
    expect(Object.fromEntries(asked.searchParams)).toMatchObject({
      client_id: 'client-1',
      redirect_uri: 'http://127.0.0.1:4020/oauth/callback',
      response_type: 'code',
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      state: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
      scope: 'messaging.read',
      connection_ids: 'a1 b2',
    });
    const page = await comeBack(auth.approve(started.authorizationUrl));
    expect(page.status).toBe(200);
    expect(String(page.body['text'])).toContain('<h1>Connected</h1>');
    const subscriptionId = appSubscriptionId({ authUrl: auth.url, clientId: 'client-1' });
    expect((await listed()).filter(({ kind }) => kind === 'oauth')).toMatchObject([
      {
        label: 'Bakery',
        state: 'active',
        reauth: null,
        subscriptionId,
        webhookPath: `/webhooks/messaging/${subscriptionId}`,
        // The service has it from the app's registration.
        webhookUrl: null,
      },
    ]);
    expect(auth.requests.at(0)?.fields.get('client_secret')).toBe('client-secret-1');
  });

  it('comes back to a page without script that nothing frames and no address leaves', async () => {
    const { authorizationUrl } = await begin();
    const query = auth.approve(authorizationUrl);
    const page = await comeBack(query);
    const html = String(page.body['text']);
    expect(html).not.toContain('<script');
    expect(html).not.toContain(new URLSearchParams(query).get('code'));
    expect(page.headers.get('content-security-policy')).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    expect(page.headers.get('cache-control')).toBe('no-store');
    expect(page.headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('is finished once, and coming back again changes nothing', async () => {
    const { authorizationUrl } = await begin();
    // RFC 3986 lets a question mark stand in a query.
    const query = `from=a?b&${auth.approve(authorizationUrl)}`;
    const head = await running.ask('HEAD', `/oauth/callback?${query}`, { token: null });
    expect(head.status).toBe(400);
    const before = auth.requests.length;
    const pages = await Promise.all([comeBack(query), comeBack(query, running), comeBack(query)]);
    expect(pages.filter(({ body }) => String(body['text']).includes('<h1>Connected</h1>'))).toHaveLength(1);
    expect(String((await comeBack(query)).body['text'])).toContain('Connected already');
    expect((await listed()).filter(({ kind }) => kind === 'oauth')).toHaveLength(1);
    expect(auth.requests.slice(before).filter(({ path }) => path === '/token')).toHaveLength(1);
  });

  it('leads on to the address of the CRM, with how it ended', async () => {
    const returnUrl = 'https://crm.example/connected?customer=42&outcome=made-up';
    const onward = async (query: string): Promise<[number, string | undefined, string | undefined]> => {
      const { status, body } = await comeBack(query);
      const html = String(body['text']);
      const [, refresh] = /<meta http-equiv="refresh" content="0; url=(.*?)">/.exec(html) ?? [];
      const [, link] = /<a href="(.*?)">Continue<\/a>/.exec(html) ?? [];
      return [status, refresh, link];
    };
    const both = (status: number, rest: string): unknown => {
      const address = `https://crm.example/connected?customer=42&amp;outcome=${rest}`;
      return [status, address, address];
    };
    const query = auth.approve((await begin({ returnUrl })).authorizationUrl);
    const connected = await onward(query);
    const id = (await listed()).find(({ kind }) => kind === 'oauth')?.id;
    expect(connected).toEqual(both(200, `connected&amp;accountId=${id}`));
    expect(await onward(query)).toEqual(connected);

    const state = new URL((await begin({ returnUrl })).authorizationUrl).searchParams.get('state') ?? '';
    const denial = new URLSearchParams({ error: 'access_denied', state, iss: auth.url }).toString();
    expect(await onward(denial)).toEqual(both(400, 'access_denied'));
    expect(await onward(denial)).toEqual(both(409, 'used'));
    const late = auth.approve((await begin({ returnUrl })).authorizationUrl);
    world.clock.jump(61 * MINUTE);
    expect(await onward(late)).toEqual(both(410, 'expired'));
    expect(await onward('state=made-up&code=x')).toEqual([400, undefined, undefined]);
  });

  it.each([
    'javascript:alert(1)',
    '/connected',
    'https://user:secret@crm.example/',
    'https://crm.example/#top',
  ])('leads nowhere when the address of the CRM is %s', async (address) => {
    const answer = await ask('POST', '/v1/accounts/oauth', { body: { returnUrl: address } });
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    expect(String(answer.body['message'])).toContain('returnUrl');
  });

  it('that nobody began, that took too long or that was refused makes no account', async () => {
    const said = async (query: string) => {
      const { status, body } = await comeBack(query);
      return [status, /<h1>(.*)<\/h1>/.exec(String(body['text']))?.[1]];
    };
    expect(await said('state=made-up&code=x')).toEqual([400, 'This link is not known']);
    expect(await said('')).toEqual([400, 'This link is not known']);
    const { authorizationUrl } = await begin();
    const state = new URL(authorizationUrl).searchParams.get('state') ?? '';
    const query = auth.approve(authorizationUrl);
    expect(await said(`${query}&state=${state}`)).toEqual([400, 'This link is not known']);
    world.clock.jump(61 * MINUTE);
    expect(await said(query)).toEqual([410, 'This took too long']);
    const refused = new URL((await begin()).authorizationUrl).searchParams.get('state') ?? '';
    const denial = new URLSearchParams({ error: 'access_denied', state: refused, iss: auth.url });
    expect(await said(denial.toString())).toEqual([400, 'Not connected']);
    expect(await said(denial.toString())).toEqual([409, 'This link was used before']);
    expect((await listed()).filter(({ kind }) => kind === 'oauth')).toEqual([]);
  });

  it('answered by another server, or by a code that is not good, makes no account', async () => {
    for (const [name, value] of [
      ['iss', 'https://elsewhere.example'],
      ['iss', null],
      ['code', 'made-up'],
    ] as const) {
      const query = new URLSearchParams(auth.approve((await begin()).authorizationUrl));
      if (value === null) query.delete(name);
      else query.set(name, value);
      const page = await comeBack(query.toString());
      expect(page.status).toBe(502);
      expect(String(page.body['text'])).not.toContain('elsewhere');
    }
    expect((await listed()).filter(({ kind }) => kind === 'oauth')).toEqual([]);
  });

  it('for an account that is no grant, or is gone, is not begun', async () => {
    for (const accountId of ['default', 'nobody']) {
      const refused = await ask('POST', '/v1/accounts/oauth', { body: { accountId } });
      expect(refused).toMatchObject({ status: 404, body: { message: 'No OAuth account with this id.' } });
    }
  });
});

describe('a grant that has ended', () => {
  const outboundOf = async (outboundId: string) =>
    (await ask('GET', `/v1/outbound/${outboundId}`)).body['state'];

  async function end(id: string): Promise<void> {
    auth.revokeAll();
    expect(await poll(id)).toBe('reauth_required');
  }

  it('holds polls and sends, says so everywhere, and goes on after a new consent', async () => {
    world.service.addConnection('waiting-1');
    const id = await connect({ label: 'Florist' });
    const queued = { connectionId: 'waiting-1', to: '15551230000', text: 'later', reference: 'r-1' };
    await end(id);
    const asked = auth.requests.length;
    expect(await accountOf(id)).toMatchObject({
      state: 'reauth_required',
      reauth: { since: expect.any(String), reason: 'invalid_grant', startAt: '/v1/accounts/oauth' },
    });
    const shown = syncStatus.parse((await ask('GET', `/v1/sync?accountId=${id}`)).body);
    expect(shown.accounts[0]?.reauthRequired).toBe(true);
    expect(await sync(id)).toMatchObject({ status: 409, body: { error: 'reauth_required' } });
    expect((await ask('POST', '/v1/connections/waiting-1/restart')).body['error']).toBe('reauth_required');
    const { outboundId } = (await ask('POST', '/v1/messages', { body: queued })).body;
    world.service.requests = [];
    await running.connector.settle();
    world.clock.jump(16 * MINUTE);
    await running.queues.run('reconcile', { accountId: id });
    expect(await outboundOf(String(outboundId))).toBe('queued');
    expect(world.service.requests.filter(({ headers }) => headers.authorization !== 'Bearer key-1')).toEqual(
      [],
    );
    expect(auth.requests).toHaveLength(asked);
    const metrics = String((await ask('GET', '/metrics', { token: null })).body['text']);
    expect(metrics).toContain('connector_oauth_grants{state="reauth_required"} 1');

    world.service.addMessage('waiting-1', world.clock.now(), { id: 'missed-1' });
    world.service.fault = ({ method, path }) =>
      method === 'POST' && path === '/messages'
        ? { status: 200, body: { messageId: 'sent-1', waMessageId: null, status: 'sent' } }
        : undefined;
    expect(await connect({ accountId: id })).toBe(id);
    expect(await accountOf(id)).toMatchObject({ state: 'active', reauth: null, label: 'Florist' });
    await running.connector.settle();
    expect(await outboundOf(String(outboundId))).toBe('sent');
    expect((await ask('GET', '/v1/messages/missed-1')).status).toBe(200);
  });

  it('is asked for once: a lost answer whose refresh was carried out ends in a consent, not in a loop', async () => {
    const id = await connect();
    world.clock.jump(16 * MINUTE);
    const before = auth.refreshes();
    auth.fault = () => (auth.refreshes() === before + 1 ? 'lost_answer' : undefined);
    expect(await poll(id)).toBe('reauth_required');
    world.clock.jump(16 * MINUTE);
    await running.connector.settle();
    await poll(id);
    expect(auth.refreshes()).toBe(before + 2);
  });

  it('leaves what an earlier consent brought alone when a new one comes in its place', async () => {
    const id = await connect();
    const before = auth.requests.length;
    await connect({ accountId: id });
    expect(auth.requests.slice(before).map(({ path }) => path)).toEqual(['/token', '/revoke']);
    expect(await poll(id)).toBeNull();
  });

  it('of an app that was replaced goes on under the new one after a consent', async () => {
    const id = await connect();
    await world.database.query(
      "update connector.accounts set subscription_id = 'app-before', base_url = 'http://127.0.0.1:1/api/v1' where id = $1",
      [id],
    );
    await connect({ accountId: id });
    expect(await poll(id)).toBeNull();
    expect(await accountOf(id)).toMatchObject({
      baseUrl: world.service.baseUrl,
      subscriptionId: appSubscriptionId({ authUrl: auth.url, clientId: 'client-1' }),
    });
  });

  it('and was forgotten, since the key that sealed it is lost, waits for a consent', async () => {
    const id = await connect();
    await world.database.query('delete from connector.oauth_grants where account_id = $1', [id]);
    expect(await accountOf(id)).toMatchObject({ state: 'reauth_required', reauth: { reason: 'forgotten' } });
    expect((await sync(id)).body['error']).toBe('reauth_required');
    await connect({ accountId: id });
    expect(await poll(id)).toBeNull();
  });

  it('is revoked with its account', async () => {
    const id = await connect();
    const before = auth.requests.length;
    expect((await ask('DELETE', `/v1/accounts/${id}`)).status).toBe(200);
    await running.connector.settle();
    const [revocation] = auth.requests.slice(before);
    expect(revocation?.path).toBe('/revoke');
    expect(revocation?.fields.get('token')).toMatch(/^refresh-/);
  });
});

describe('a process that starts', () => {
  it('brings the address of the service to the accounts of its app, and tells of those of another', async () => {
    const [moved, foreign] = [await connect(), await connect()];
    await world.database.query(
      "update connector.accounts set base_url = 'http://127.0.0.1:1/api/v1' where id = any($1::text[])",
      [[moved, foreign]],
    );
    await world.database.query("update connector.accounts set subscription_id = 'app-before' where id = $1", [
      foreign,
    ]);
    const lines: string[] = [];
    const logger = createLogger({
      level: 'warn',
      name: 'test',
      destination: { write: (line) => lines.push(line) },
    });
    const started = createOauth({
      app: auth.app(world.service.baseUrl),
      database: world.database,
      keyRing: createKeyRing([world.sealingKey]),
      clock: world.clock,
      logger,
      owner: 'third',
      random: () => 0,
      keeps: false,
      onRefreshEnd: () => undefined,
      onGranted: async () => undefined,
    });
    await started.start();
    await started.close();
    expect(await accountOf(moved)).toMatchObject({ baseUrl: world.service.baseUrl });
    expect(await accountOf(foreign)).toMatchObject({ baseUrl: 'http://127.0.0.1:1/api/v1' });
    expect(lines.find((line) => line.includes('accounts of another OAuth app'))).toContain('"count":1');
  });
});

describe('the doctor', () => {
  async function examineAccount(accountId: string, more: Partial<DoctorSettings> = {}): Promise<Report[]> {
    const database = openForDoctor(world.databaseUrl);
    const settings = {
      databaseUrl: world.databaseUrl,
      host: '127.0.0.1',
      port: Number(new URL(running.url).port),
      apiToken: TOKEN,
      sealingKeys: [world.sealingKey],
      reconcileIntervalMs: 45_000,
      inboxRetentionDays: 30,
      ...more,
    };
    const migrations = join(import.meta.dirname, '../../../drizzle/connector');
    const reports = await examine({ settings, clock: world.clock, database, migrations });
    await database.close();
    return reports.filter((report) => report.accountId === accountId);
  }
  const finding = (reports: readonly Report[], check: string) => reports.find((each) => each.check === check);

  it('says how to consent anew where a grant has ended, or is from before the cut-over', async () => {
    const id = await connect();
    world.service.events = ['message.received'];
    const old = finding(await examineAccount(id), 'events');
    expect(old?.verdict).toBe('problem');
    expect(old?.advice[0]).toContain(`Post {"accountId": "${id}"} to /v1/accounts/oauth`);
    world.service.events = [];
    world.service.fault = ({ path }) =>
      path === '/webhook' ? { status: 403, body: { error: 'insufficient_scope' } } : undefined;
    const narrow = finding(await examineAccount(id), 'scopes');
    expect(narrow?.says).toContain('lacks messaging.events');
    expect(narrow?.advice[0]).toContain('/v1/accounts/oauth');
    world.service.fault = () => undefined;
    auth.revokeAll();
    expect(await poll(id)).toBe('reauth_required');
    const ended = finding(await examineAccount(id), 'polls');
    expect(ended).toMatchObject({
      verdict: 'problem',
      says: expect.stringMatching(/^The grant .* has ended/),
    });
    expect(ended?.advice[0]).toContain('/v1/accounts/oauth');
  });

  it("names the setting that the app's webhook lacks, and leaves its address to the app's registration", async () => {
    const id = await connect();
    const subscription = appSubscriptionId({ authUrl: auth.url, clientId: 'client-1' });
    const secret = 'sealed_secret = null, sealed_configured_secret = null';
    await world.database.query(`update connector.subscriptions set ${secret} where id = $1`, [subscription]);
    const reports = await examineAccount(id);
    expect(finding(reports, 'webhook')).toMatchObject({ verdict: 'not_checked' });
    expect(finding(reports, 'signatures')).toMatchObject({
      verdict: 'warning',
      says: expect.stringContaining('all comes by polling'),
      advice: [expect.stringContaining('set SERVICE_CLIENT_WEBHOOK_SECRET')],
    });
    const named = finding(await examineAccount(id, { namesAppWebhookSecret: true }), 'signatures');
    expect(named?.advice[0]).toContain('restart the connector');
    const { database, clock } = world;
    const keyRing = createKeyRing([world.sealingKey]);
    const app = auth.app(world.service.baseUrl);
    await ensureAppSubscription(
      { database, keyRing, clock, logger: silentLogger, publicUrl: undefined },
      app,
    );
    const now = clock.now();
    await database.query(
      `insert into connector.receiver_tallies values ($1, $2, 'wrong_signature', 1, $1, 0, 0, 0)`,
      [now, subscription],
    );
    const refused = finding(await examineAccount(id), 'signatures');
    expect(refused).toMatchObject({ verdict: 'problem', says: expect.stringContaining('another secret') });
    expect(refused?.advice[0]).toContain('into SERVICE_CLIENT_WEBHOOK_SECRET');
    expect(refused?.advice.join()).not.toContain('rotate');
  });
});

describe('the webhook that grants share', () => {
  const path = `/webhooks/messaging/`;
  const received = (connectionId: string, id: string) => ({
    event: 'message.received',
    connection_id: connectionId,
    message: {
      id,
      wa_id: null,
      from: '15551234567',
      text: id,
      media_url: null,
      media_type: null,
      timestamp: 1,
    },
  });
  const connectionOf = async (id: string) => (await ask('GET', `/v1/connections/${id}`)).body;

  it('brings the events of each account, and keeps what nobody knows until somebody lists it', async () => {
    world.service.addConnection('of-a');
    const a = await connect();
    world.service.connections = [];
    world.service.addConnection('of-b');
    const b = await connect();
    const account = await accountOf(a);
    const to = `${path}${account?.subscriptionId}`;
    const deliver = (event: object) => other.deliver(event, APP_SECRET, world.clock.now(), to);
    for (const [connection, message] of [
      ['of-a', 'to-a'],
      ['of-b', 'to-b'],
      ['of-nobody', 'to-nobody'],
    ] as const) {
      expect((await deliver(received(connection, message))).status).toBe(200);
    }
    await running.connector.settle();
    const changes = (await ask('GET', '/v1/changes?limit=1000')).body['changes'] as {
      messageId?: string;
      accountId: string;
    }[];
    const owner = (messageId: string) => changes.find((change) => change.messageId === messageId)?.accountId;
    expect(owner('to-a')).toBe(a);
    expect(owner('to-b')).toBe(b);
    expect(owner('to-nobody')).toBe(`unclaimed:${account?.subscriptionId}`);
    expect((await ask('GET', '/v1/messages/to-nobody')).status).toBe(200);
    // Any account of the app may list it, so all of them are polled.
    const woken = () => other.queues.wakes.map(({ data }) => data['accountId']);
    await vi.waitFor(() => expect(woken()).toEqual(expect.arrayContaining([a, b])), 10_000);

    world.service.connections = [];
    world.service.addConnection('of-nobody');
    expect(await poll(b)).toBeNull();
    expect((await connectionOf('of-nobody'))['accountId']).toBe(b);
    await deliver(received('of-nobody', 'to-b-now'));
    expect((await ask('GET', '/v1/messages/to-b-now')).status).toBe(200);
  });

  it("keeps an event of another subscription's connection, and merges nothing", async () => {
    const id = await connect();
    world.service.addConnection('of-the-key');
    await running.queues.run('reconcile', { accountId: 'default' });
    const to = `${path}${(await accountOf(id))?.subscriptionId}`;
    const event = received('of-the-key', 'from-elsewhere');
    expect((await other.deliver(event, APP_SECRET, world.clock.now(), to)).status).toBe(200);
    expect((await ask('GET', '/v1/messages/from-elsewhere')).status).toBe(404);
  });
});

describe("the app's webhook", () => {
  const app = (more: Partial<OauthApp>): OauthApp => ({ ...auth.app(world.service.baseUrl), ...more });
  /** What a process with this app logs of its webhook at start. */
  async function startsWith(configured: OauthApp, publicUrl?: string): Promise<string> {
    const lines: string[] = [];
    const destination = { write: (line: string) => lines.push(line) };
    const logger = createLogger({ level: 'info', name: 'test', destination });
    const { database, clock } = world;
    const keyRing = createKeyRing([world.sealingKey]);
    await ensureAppSubscription({ database, keyRing, clock, logger, publicUrl }, configured);
    return lines.join('');
  }
  /** What a receiver checks with at the app's path; null: there is no such path. */
  async function secretsOf(configured: OauthApp): Promise<unknown[] | null> {
    const { database, clock } = world;
    const keyRing = createKeyRing([world.sealingKey]);
    const found = await createSubscriptionSecrets({ database, keyRing, clock }).find(
      appSubscriptionId(configured),
    );
    return found?.secrets.map(({ secret }) => secret) ?? null;
  }

  it('has its path before anybody consents, and has and keeps a secret once some process was given it', async () => {
    const silent = app({ clientId: 'client-2', webhookSecret: undefined });
    const id = appSubscriptionId(silent);
    expect(await secretsOf(silent)).toBeNull();
    const told = await startsWith(silent, WEBHOOK_URL);
    expect(told).toContain(`${WEBHOOK_URL}/${id}`);
    expect(told).toContain('SERVICE_CLIENT_WEBHOOK_SECRET');
    expect(await secretsOf(silent)).toEqual([]);
    const third = await world.start({ role: 'web', oauth: silent });
    // A failed check reads secrets again, four times a second at most.
    await world.clock.advance(1_000);
    const delivered = await third.deliver({ event: 'any' }, '', undefined, `/webhooks/messaging/${id}`);
    expect(delivered).toMatchObject({ status: 401, body: { error: 'invalid_signature' } });
    await third.stop();
    const heard = await startsWith({ ...silent, webhookSecret: 'secret-one' });
    expect(heard).toContain(`${silent.publicUrl}/webhooks/messaging/${id}`);
    expect(heard).not.toContain('secret-one');
    expect(await secretsOf(silent)).toEqual(['secret-one']);
    // A process that does not know the secret leaves it to the others.
    await startsWith(silent);
    expect(await secretsOf(silent)).toEqual(['secret-one']);
  });

  it('takes another secret of the settings once, however many processes start with it', async () => {
    const one = app({ clientId: 'client-3', webhookSecret: 'secret-one' });
    const two = { ...one, webhookSecret: 'secret-two' };
    await startsWith(one);
    expect(await secretsOf(one)).toEqual(['secret-one']);
    await Promise.all([startsWith(two), startsWith(two), startsWith(two)]);
    expect(await secretsOf(one)).toEqual(['secret-two']);
    const [row] = await world.database.query<{ version: number; stored: string }>(
      `select secret_version as version, s::text as stored from connector.subscriptions s where id = $1`,
      [appSubscriptionId(one)],
    );
    expect(row?.version).toBe(2);
    expect(row?.stored).not.toMatch(/secret-(one|two)/);
  });
});

describe('the access token of a grant', () => {
  it(
    'is refreshed by a worker three minutes before its end, and not sooner',
    proves('oauth.refresh.serialized'),
    async () => {
      await connect();
      const before = auth.refreshes();
      world.clock.jump(11 * MINUTE);
      await running.connector.settle();
      expect(auth.refreshes()).toBe(before);
      world.clock.jump(MINUTE);
      await running.connector.settle();
      await running.connector.settle();
      expect(auth.refreshes()).toBe(before + 1);
    },
  );

  it(
    'that is refused with 401 is refreshed once, and the call repeated once',
    proves('oauth.refresh.on-401'),
    async () => {
      world.service.addConnection('refused-once');
      const id = await connect();
      const first = [...world.service.apiKeys].filter((key) => key.startsWith('access-')).at(-1) ?? '';
      world.service.apiKeys.delete(first);
      const before = auth.refreshes();
      expect((await sync(id)).status).toBe(200);
      expect(auth.refreshes()).toBe(before + 1);
      world.service.requests = [];
      world.service.fault = ({ path, headers }) =>
        path === '/connections' && headers.authorization !== 'Bearer key-1'
          ? { status: 401, body: { error: 'invalid_token' } }
          : undefined;
      expect((await sync(id)).status).toBe(502);
      expect(auth.refreshes()).toBe(before + 2);
      expect(world.service.requests.filter(({ path }) => path === '/connections')).toHaveLength(2);
      world.service.fault = () => undefined;
    },
  );

  it('that cannot be fetched after a 401 leaves a send queued, since nothing went out', async () => {
    world.service.addConnection('sending-1');
    await connect();
    world.service.fault = ({ method, path }) =>
      method === 'POST' && path === '/messages'
        ? { status: 401, body: { error: 'invalid_token' } }
        : undefined;
    auth.fault = () => 'reset';
    const data = Buffer.from('a file').toString('base64');
    const media = { filename: 'a.png', mimetype: 'image/png', data };
    const body = { connectionId: 'sending-1', to: '15551230000', media, reference: 'refused-file' };
    const { outboundId } = (await ask('POST', '/v1/messages', { body })).body;
    await running.connector.settle();
    expect((await ask('GET', `/v1/outbound/${outboundId}`)).body).toMatchObject({
      state: 'queued',
      lastError: 'oauth_network',
    });
    world.service.fault = ({ method, path }) =>
      method === 'POST' && path === '/messages'
        ? { status: 200, body: { messageId: 'sent-2', waMessageId: null, status: 'sent' } }
        : undefined;
    auth.fault = () => undefined;
    world.clock.jump(16 * MINUTE);
    await running.connector.settle();
    expect((await ask('GET', `/v1/outbound/${outboundId}`)).body['state']).toBe('sent');
  });

  it('is fetched again after a server error, a reset before it acted, and a wrong client secret', async () => {
    const id = await connect();
    for (const [fault, code] of [
      [{ status: 500, body: { error: 'server_error' } }, 'oauth_unreadable'],
      ['reset', 'oauth_network'],
      [{ status: 401, body: { error: 'invalid_client' } }, 'oauth_invalid_client'],
    ] as const) {
      world.clock.jump(16 * MINUTE);
      auth.fault = () => fault;
      expect(await poll(id)).toBe(code);
      expect((await accountOf(id))?.state).toBe('active');
      auth.fault = () => undefined;
      world.clock.jump(6 * MINUTE);
      expect(await poll(id)).toBeNull();
    }
  });

  it('is waited for ten seconds, twice, and asked for again later', async () => {
    const id = await connect();
    world.clock.jump(16 * MINUTE);
    const nextRequest = () =>
      new Promise<void>((resolve) => {
        auth.onRequest = () => resolve();
      });
    auth.fault = () => 'hang';
    const first = nextRequest();
    const polling = poll(id);
    await first;
    const second = nextRequest();
    await world.clock.advance(10_000);
    await second;
    await world.clock.advance(10_000);
    expect(await polling).toBe('oauth_deadline');
    auth.fault = () => undefined;
    auth.onRequest = () => undefined;
    world.clock.jump(6 * MINUTE);
    expect(await poll(id)).toBeNull();
  });

  it('is fetched with the same refresh token when an answer was lost before the server acted', async () => {
    const id = await connect();
    world.clock.jump(16 * MINUTE);
    let faults = 0;
    auth.fault = () => (faults++ === 0 ? 'reset' : undefined);
    const before = auth.requests.length;
    expect(await poll(id)).toBeNull();
    const tokens = auth.requests.slice(before).map(({ fields }) => fields.get('refresh_token'));
    expect(tokens).toHaveLength(2);
    expect(new Set(tokens).size).toBe(1);
  });
});
