import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { createSubscriptionSecrets } from '../../../src/connector/accounts/subscription-secrets.ts';
import type { DoctorSettings } from '../../../src/connector/doctor/check-input.ts';
import { examine } from '../../../src/connector/doctor/examine.ts';
import type { Report } from '../../../src/connector/doctor/finding.ts';
import { ensureAppSubscription } from '../../../src/connector/oauth/oauth.ts';
import { appSubscriptionId, type OauthApp } from '../../../src/connector/oauth/oauth-app.ts';
import { Deadline } from '../../../src/runtime/clock/deadline.ts';
import { createKeyRing } from '../../../src/runtime/sealing/key-ring.ts';
import { collectLog } from '../../support/log-to.ts';
import { openForDoctor } from '../doctor/examined-system.ts';
import { silentLogger } from '../support/event-fixtures.ts';
import { TOKEN, WEBHOOK_URL } from '../support/running-connector.ts';
import { APP_SECRET, MINUTE, useGrants } from './grant-world.ts';

const grants = useGrants();
const { ask, accountOf, connect, poll } = grants;

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

  /** Delivers an event to the webhook of the app that this account shares. */
  const deliverTo = async (accountId: string) => {
    const to = `${path}${(await accountOf(accountId))?.subscriptionId}`;
    return (event: object) => grants.other.deliver(event, APP_SECRET, grants.world.clock.now(), to);
  };
  /** The accounts that the changes of a message name. */
  async function ownersOf(messageId: string): Promise<string[]> {
    await grants.running.connector.settle();
    const { changes } = (await ask('GET', '/v1/changes?limit=1000')).body as {
      changes: { messageId?: string; accountId: string }[];
    };
    return changes.filter((change) => change.messageId === messageId).map(({ accountId }) => accountId);
  }

  it('receives the events of each account, and stores those of unknown connections until an account lists them', async () => {
    grants.world.service.addConnection('of-a');
    const a = await connect();
    grants.world.service.connections = [];
    grants.world.service.addConnection('of-b');
    const b = await connect();
    const deliver = await deliverTo(a);
    for (const [connection, message] of [
      ['of-a', 'to-a'],
      ['of-b', 'to-b'],
      ['of-nobody', 'to-nobody'],
    ] as const) {
      expect((await deliver(received(connection, message))).status).toBe(200);
    }
    expect(await ownersOf('to-a')).toEqual([a]);
    expect(await ownersOf('to-b')).toEqual([b]);
    expect(await ownersOf('to-nobody')).toEqual([`unclaimed:${(await accountOf(a))?.subscriptionId}`]);
    expect((await ask('GET', '/v1/messages/to-nobody')).status).toBe(200);
    // Any account of the app may list it, so all of them are polled.
    const notified = () => grants.other.notifier.notified.map(({ key }) => key);
    await vi.waitFor(() => expect(notified()).toEqual(expect.arrayContaining([a, b])), 10_000);

    grants.world.service.connections = [];
    grants.world.service.addConnection('of-nobody');
    expect(await poll(b)).toBeNull();
    expect((await connectionOf('of-nobody'))['accountId']).toBe(b);
    await deliver(received('of-nobody', 'to-b-now'));
    expect((await ask('GET', '/v1/messages/to-b-now')).status).toBe(200);
  });

  /** Lists are the same for each token, so that of the account that was polled last gets none any more. */
  function hideListsFromLast(): void {
    const token = grants.world.service.requests.at(-1)?.headers.authorization;
    grants.world.service.fault = ({ headers }) =>
      headers.authorization === token ? { status: 503, body: {} } : undefined;
  }

  it('stores an event of a customer whose consent is not finished for no other one, and then for him', async () => {
    grants.world.service.addConnection('early-a');
    const a = await connect();
    await poll(a);
    hideListsFromLast();
    const deliver = await deliverTo(a);
    const unclaimed = `unclaimed:${(await accountOf(a))?.subscriptionId}`;
    const { authorizationUrl } = await grants.begin();
    const query = grants.auth.approve(authorizationUrl);
    const event = received('early-b', 'before-callback');
    expect((await deliver(event)).status).toBe(200);
    expect(await ownersOf('before-callback')).toEqual([unclaimed]);
    grants.world.service.connections = [];
    grants.world.service.addConnection('early-b');
    grants.world.service.addMessage('early-b', 1, { id: 'before-callback' });
    expect((await grants.comeBack(query)).status).toBe(200);
    await grants.running.runPolls();
    const b = String((await connectionOf('early-b'))['accountId']);
    expect((await accountOf(b))?.kind).toBe('oauth');
    expect(b).not.toBe(a);
    expect(await ownersOf('before-callback')).toEqual([unclaimed, b]);
    const message = (await ask('GET', '/v1/messages/before-callback')).body;
    expect(message).toMatchObject({ peer: '15551234567', historic: false });
  });

  it('stores no event of a removed customer for another one, until an account lists the connection', async () => {
    grants.world.service.addConnection('left-a');
    const a = await connect();
    await poll(a);
    hideListsFromLast();
    grants.world.service.connections = [];
    grants.world.service.addConnection('left-b');
    const b = await connect();
    expect((await ask('DELETE', `/v1/accounts/${b}`)).status).toBe(200);
    const deliver = await deliverTo(a);
    expect((await deliver(received('left-b', 'after-removal'))).status).toBe(200);
    expect((await ask('GET', '/v1/messages/after-removal')).status).toBe(404);
    expect(await connectionOf('left-b')).toMatchObject({ accountId: b, visible: false });
    grants.world.service.addMessage('left-b', grants.world.clock.now(), { id: 'after-removal' });
    const again = await connect();
    expect(await ownersOf('after-removal')).toEqual([again]);
    expect((await deliver(received('left-b', 'after-consent'))).status).toBe(200);
    expect(await ownersOf('after-consent')).toEqual([again]);
  });

  it('stores an event for a connection of another subscription, and merges nothing', async () => {
    const id = await connect();
    grants.world.service.addConnection('of-the-key');
    await grants.running.poll();
    const to = `${path}${(await accountOf(id))?.subscriptionId}`;
    const event = received('of-the-key', 'from-elsewhere');
    expect((await grants.other.deliver(event, APP_SECRET, grants.world.clock.now(), to)).status).toBe(200);
    expect((await ask('GET', '/v1/messages/from-elsewhere')).status).toBe(404);
  });
});

describe("the app's webhook", () => {
  const app = (more: Partial<OauthApp>): OauthApp => ({
    ...grants.auth.app(grants.world.service.baseUrl),
    ...more,
  });
  /** What a process with this app logs of its webhook at start. */
  async function startsWith(configured: OauthApp, publicUrl?: string): Promise<string> {
    const { lines, logger } = collectLog('info');
    const { database, clock } = grants.world;
    const keyRing = createKeyRing([grants.world.sealingKey]);
    await ensureAppSubscription({ database, keyRing, clock, logger }, configured, publicUrl);
    return lines.join('');
  }
  /** What a receiver checks with at the app's path; null: there is no such path. */
  async function secretsOf(configured: OauthApp): Promise<unknown[] | null> {
    const { database, clock } = grants.world;
    const keyRing = createKeyRing([grants.world.sealingKey]);
    const found = await createSubscriptionSecrets({ database, keyRing, clock }).find(
      appSubscriptionId(configured),
      new Deadline(clock, 4_500),
    );
    return found?.secrets.map(({ secret }) => secret) ?? null;
  }

  it('has its path before the first consent, and keeps the secret that a process was configured with', async () => {
    const silent = app({ clientId: 'client-2', webhookSecret: undefined });
    grants.auth.clientIds.add(silent.clientId);
    const id = appSubscriptionId(silent);
    expect(await secretsOf(silent)).toBeNull();
    const told = await startsWith(silent, WEBHOOK_URL);
    expect(told).toContain(`${WEBHOOK_URL}/${id}`);
    expect(told).toContain('SERVICE_CLIENT_WEBHOOK_SECRET');
    expect(await secretsOf(silent)).toEqual([]);
    const third = await grants.world.start({ role: 'web', oauth: silent });
    // A failed check reads secrets again, four times a second at most.
    await grants.world.clock.advance(1_000);
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

  it('accepts a new secret from the settings once, however many processes start with it', async () => {
    const one = app({ clientId: 'client-3', webhookSecret: 'secret-one' });
    const two = { ...one, webhookSecret: 'secret-two' };
    await startsWith(one);
    expect(await secretsOf(one)).toEqual(['secret-one']);
    await Promise.all([startsWith(two), startsWith(two), startsWith(two)]);
    expect(await secretsOf(one)).toEqual(['secret-two']);
    const [row] = await grants.world.database.query<{ version: number; stored: string }>(
      `select secret_version as version, s::text as stored from connector.subscriptions s where id = $1`,
      [appSubscriptionId(one)],
    );
    expect(row?.version).toBe(2);
    expect(row?.stored).not.toMatch(/secret-(one|two)/);
  });
});

describe('the doctor', () => {
  async function examineAccount(accountId: string, more: Partial<DoctorSettings> = {}): Promise<Report[]> {
    const database = openForDoctor(grants.world.databaseUrl);
    const settings = {
      databaseUrl: grants.world.databaseUrl,
      host: '127.0.0.1',
      port: Number(new URL(grants.running.url).port),
      apiToken: TOKEN,
      sealingKeys: [grants.world.sealingKey],
      reconcileIntervalMs: 45_000,
      inboxRetentionDays: 30,
      ...more,
    };
    const migrations = join(import.meta.dirname, '../../../drizzle/connector');
    const reports = await examine({ settings, clock: grants.world.clock, database, migrations });
    await database.close();
    return reports.filter((report) => report.accountId === accountId);
  }
  const finding = (reports: readonly Report[], check: string) => reports.find((each) => each.check === check);

  it('explains how to consent again if a grant has ended or is from before the cut-over', async () => {
    const id = await connect();
    const expire = (at: number) =>
      grants.world.database.query('update connector.oauth_grants set access_expires_at = $1', [at]);
    await expire(grants.world.clock.now());
    const expired = 'Its access token has expired; a worker refreshes it.';
    expect(finding(await examineAccount(id), 'service')?.says).toBe(expired);
    await expire(grants.world.clock.now() + 60 * MINUTE);
    grants.world.service.events = ['message.received'];
    const old = finding(await examineAccount(id), 'events');
    expect(old?.verdict).toBe('problem');
    expect(old?.advice[0]).toContain(`Call POST /v1/accounts/oauth with {"accountId": "${id}"}`);
    grants.world.service.events = [];
    grants.world.service.fault = ({ path }) =>
      path === '/webhook' ? { status: 403, body: { error: 'insufficient_scope' } } : undefined;
    const narrow = finding(await examineAccount(id, { namesAppWebhookSecret: true }), 'scopes');
    expect(narrow?.says).toContain('lacks messaging.events');
    expect(narrow?.advice[0]).toContain('/v1/accounts/oauth');
    grants.world.service.fault = () => undefined;
    grants.auth.revokeAll();
    expect(await poll(id)).toBe('reauth_required');
    const ended = finding(await examineAccount(id), 'polls');
    expect(ended).toMatchObject({
      verdict: 'problem',
      says: expect.stringMatching(/^The grant .* has ended/),
    });
    expect(ended?.advice[0]).toContain('/v1/accounts/oauth');
  });

  it("names the missing setting of the app's webhook, and points to the registration of the app for its address", async () => {
    const id = await connect();
    const subscription = appSubscriptionId({ authUrl: grants.auth.url, clientId: 'client-1' });
    const secret = 'sealed_secret = null, sealed_configured_secret = null';
    await grants.world.database.query(`update connector.subscriptions set ${secret} where id = $1`, [
      subscription,
    ]);
    const reports = await examineAccount(id);
    expect(finding(reports, 'webhook')).toMatchObject({ verdict: 'not_checked' });
    expect(finding(reports, 'signatures')).toMatchObject({
      verdict: 'warning',
      says: expect.stringContaining('every delivery is refused and only polling finds events'),
      advice: [expect.stringContaining('set SERVICE_CLIENT_WEBHOOK_SECRET')],
    });
    const named = finding(await examineAccount(id, { namesAppWebhookSecret: true }), 'signatures');
    expect(named?.advice[0]).toContain('SERVICE_CLIENT_WEBHOOK_SECRET is set. Restart the connector');
    const { database, clock } = grants.world;
    const keyRing = createKeyRing([grants.world.sealingKey]);
    const app = grants.auth.app(grants.world.service.baseUrl);
    await ensureAppSubscription({ database, keyRing, clock, logger: silentLogger }, app);
    const now = clock.now();
    await database.query(
      `insert into connector.receiver_tallies values ($1, $2, 'wrong_signature', 1, $1, 0, 0, 0)`,
      [now, subscription],
    );
    // An expected event did not arrive, and polling found it.
    await database.query(
      `insert into connector.repair_totals (connection_id, account_id, messages, statuses, last_at)
       values ('c1', $1, 1, 0, $2)`,
      [id, now],
    );
    const refused = finding(await examineAccount(id), 'signatures');
    expect(refused).toMatchObject({
      verdict: 'problem',
      says: expect.stringContaining('signed with a different secret'),
    });
    expect(refused?.advice[0]).toContain('Set SERVICE_CLIENT_WEBHOOK_SECRET');
    expect(refused?.advice.join()).not.toContain('rotate');
  });
});
