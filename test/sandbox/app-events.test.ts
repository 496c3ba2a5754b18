import { beforeEach, describe, expect, it } from 'vitest';
import { ofTest } from '../support/of-file.ts';
import { proves } from '../support/proves.ts';
import { startReceiver } from '../support/receiver.ts';
import { isSignedWith } from '../support/signed-request.ts';
import { useHookedSandbox } from './hooked-sandbox.ts';
import { obtainByPage, obtainTokens, REDIRECT_URI, type RegisteredApp } from './oauth-client.ts';

const hook = useHookedSandbox();
const PHONE = '491700000010';
const FOUR = ['connection.connected', 'connection.disconnected', 'message.received', 'message.status'];

const receiver = ofTest(startReceiver);
beforeEach(async () => {
  await hook.call('PUT', '/hosts/app.example.com', { target: receiver.origin });
  await hook.call('PUT', '/timing', { sendScale: 0 });
});

async function register(more: object = {}): Promise<RegisteredApp> {
  const { body } = await hook.call('POST', '/oauth-apps', {
    name: 'CRM',
    redirectUris: [REDIRECT_URI],
    scopes: ['messaging.read', 'messaging.events'],
    webhookUrl: 'https://app.example.com/hook',
    ownerWorkspaceId: hook.sandbox.seed.workspaceId,
    ...more,
  });
  return body;
}

const consent = (app: RegisteredApp, scope?: string) =>
  obtainTokens(hook.service.origin, app, scope === undefined ? {} : { scope });
const consentOnPage = (app: RegisteredApp, workspace: string, connection: string) =>
  obtainByPage(hook.service.origin, app, { workspace, connection, scope: 'messaging.events' });
const settle = () => hook.service.platform.settle();
const payloads = (of = receiver) => of.requests.map(({ body }) => JSON.parse(body.toString()));
/** The events that the app was told of, in the order of their arrival. */
const told = (): unknown[] => payloads().map(({ event }) => event);

/** Another workspace, with a connection and a key. */
async function addWorkspace(phoneNumber = '447700900198') {
  const { id } = (await hook.call('POST', '/workspaces', { kind: 'standalone' })).body.workspace;
  const { key } = (await hook.call('POST', `/workspaces/${id}/api-keys`)).body;
  const number = { provider: 'qr', phoneNumber };
  const { connection } = (await hook.call('POST', `/workspaces/${id}/connections`, number)).body;
  return { id: id as string, key: key as string, connectionId: connection.id as string };
}
const writeTo = (connectionId: string) =>
  hook.call('POST', `/contacts/${PHONE}/messages`, { connectionId, text: 'hello' });

describe('the webhook of an OAuth app', () => {
  it('receives the events of the connections that it was granted, signed with its own newest secret', async () => {
    proves('events.oauth.url', 'events.granted');
    const app = await register();
    await hook.write();
    await settle();
    expect(receiver.requests).toEqual([]);

    const { access_token: key } = await consent(app);
    await hook.write();
    await settle();
    expect(told()).toEqual(['message.received']);
    const [request] = receiver.requests;
    expect(isSignedWith(String(app.webhookSecret), request)).toBe(true);
    expect(isSignedWith(hook.secret, request)).toBe(false);
    expect(request?.path).toBe('/hook');
    // The workspace has a webhook of its own, and is told as before.
    expect(hook.receiver.requests).toHaveLength(2);
    expect(hook.receiver.requests[1]?.body).toEqual(request?.body);

    const secrets = [String(app.webhookSecret)];
    const url = 'https://app.example.com/hook';
    for (const change of [
      () => hook.service.call('POST', '/webhook/rotate', { key }),
      () => hook.service.call('PUT', '/webhook', { key, body: { url } }),
    ]) {
      const { body } = await change();
      secrets.push(String(Reflect.get(Object(body), 'secret')));
      await hook.write();
      await settle();
      const last = receiver.requests.at(-1);
      const signs = secrets.map((secret) => isSignedWith(secret, last));
      expect(signs).toEqual([...secrets.slice(1).map(() => false), true]);
    }
  });

  it('receives events of every workspace that consented, and of connections that it creates', async () => {
    proves('events.granted');
    const [one, two, three] = [
      await addWorkspace(),
      await addWorkspace('447700900197'),
      await addWorkspace('447700900196'),
    ];
    const wide = await register({ ownerWorkspaceId: undefined });
    await consentOnPage(wide, one.id, one.connectionId);
    await consentOnPage(wide, two.id, two.connectionId);
    for (const { connectionId } of [one, two, three]) await writeTo(connectionId);
    await settle();
    expect(payloads().map(({ event, connection_id: id }) => [event, id])).toEqual(
      expect.arrayContaining([one, two].map(({ connectionId }) => ['message.received', connectionId])),
    );
    expect(receiver.requests).toHaveLength(2);

    const scopes = ['messaging.events', 'messaging.manage'];
    const { access_token: key } = await consent(await register({ scopes, ownerWorkspaceId: three.id }));
    const { body } = await hook.service.call('POST', '/connections', { key });
    const { id, qr } = Reflect.get(Object(body), 'connection');
    await hook.call('POST', `/connections/${id}/scan`, { qr, phoneNumber: '447700900195' });
    await writeTo(id);
    await settle();
    expect(payloads()[2]).toMatchObject({ event: 'message.received', connection_id: id });
  });

  it('and that of a workspace receive four types, whatever happens, and none of a cloud_api connection', async () => {
    proves('events.four', 'events.snake-case', 'versioning.webhooks-snake-case', 'events.qr-only');
    await consent(await register());
    const { body: list } = await hook.api('GET', '/connections');
    const { connections } = list as { connections: { id: string; provider: string }[] };
    const cloud = connections.find(({ provider }) => provider === 'cloud_api')?.id ?? '';
    const path = `/connections/${hook.connectionId}`;
    for (const connectionId of [hook.connectionId, cloud]) {
      await writeTo(connectionId);
      const sent = await hook.api('POST', '/messages', { connectionId, to: PHONE, text: 'hello' });
      expect(sent.status).toBe(200);
    }
    await hook.call('POST', '/clock/advance', { ms: 60_000 });
    await hook.call('POST', `${path}/outage`, { cause: 'session_lost' });
    await hook.call('POST', '/clock/advance', { ms: 300_000 });
    await hook.call('POST', `${path}/recover`);
    await hook.call('PUT', `${path}/licence`, { status: 'active' });
    await hook.api('POST', '/messages/read', { connectionId: hook.connectionId, phone: PHONE });
    await hook.api('POST', '/webhook/rotate');
    await hook.api('POST', '/connections');
    await hook.api('POST', `${path}/restart`);
    await hook.api('POST', `${path}/logout`);
    await settle();
    for (const of of [hook.receiver, receiver]) {
      expect([...new Set(payloads(of).map(({ event }) => event))].sort()).toEqual(FOUR);
      expect(new Set(payloads(of).map(({ connection_id: id }) => id))).toEqual(new Set([hook.connectionId]));
      const names: string[] = [];
      JSON.parse(JSON.stringify(payloads(of)), (name, value: unknown) => {
        if (Number.isNaN(Number(name))) names.push(name);
        return value;
      });
      expect(names.length).toBeGreaterThan(40);
      expect(names.filter((name) => !/^[a-z]+(?:_[a-z]+)*$/.test(name))).toEqual([]);
    }
  });

  it('receives nothing without the scope, for another connection, after a revocation or its end, or while it is disabled', async () => {
    const app = await register();
    const silent = await register({ scopes: ['messaging.read'] });
    await consent(silent);
    await consent(app, 'messaging.read');
    await hook.write();
    await settle();
    expect(receiver.requests).toEqual([]);

    await consent(app);
    const workspaceId = hook.sandbox.seed.workspaceId;
    const { body: late } = await hook.call('POST', `/workspaces/${workspaceId}/connections`, {
      provider: 'qr',
      phoneNumber: '447700900199',
    });
    await hook.call('POST', `/contacts/${PHONE}/messages`, {
      connectionId: late.connection.id,
      text: 'hello',
    });
    await settle();
    expect(receiver.requests).toEqual([]);

    const { apps } = hook.service.platform.oauth;
    await apps.setEnabled(app.clientId, false);
    await hook.write();
    await settle();
    expect(receiver.requests).toEqual([]);
    await apps.setEnabled(app.clientId, true);
    await hook.write();
    await settle();
    expect(receiver.requests).toHaveLength(1);

    const { body: grants } = await hook.call('GET', '/grants?limit=1');
    await hook.call('DELETE', `/grants/${grants.entries[0].id}`);
    await hook.write();
    await settle();
    expect(receiver.requests).toHaveLength(1);

    await consent(app);
    await hook.service.database.query('UPDATE platform.oauth_grants SET expires_at = $1', [
      hook.service.platform.time.now(),
    ]);
    await hook.write();
    await settle();
    expect(receiver.requests).toHaveLength(1);
  });

  it('receives an event once, however many grants cover it, and keeps its own record of it', async () => {
    const app = await register();
    await consent(app);
    await consent(app);
    receiver.script({ status: 500 });
    await hook.write();
    await hook.clock.pass(500);
    await settle();
    expect(receiver.requests).toHaveLength(2);
    const { body } = await hook.call('GET', '/deliveries?limit=2');
    const byUrl = new Map(body.entries.map((entry: { url: string }) => [entry.url, entry]));
    expect(byUrl.get('https://app.example.com/hook')).toMatchObject({
      outcome: 'delivered',
      attempts: [{ status: 500 }, { status: 200 }],
      subscription: { kind: 'app', id: app.clientId },
    });
    expect(byUrl.get('https://crm.example.com/')).toMatchObject({
      subscription: { kind: 'workspace', id: hook.sandbox.seed.workspaceId },
    });
    const own = byUrl.get('https://app.example.com/hook') as { id: string };
    await hook.call('POST', `/deliveries/${own.id}/resend`, { resign: true });
    expect(isSignedWith(String(app.webhookSecret), receiver.requests[2])).toBe(true);
    expect(hook.receiver.requests).toHaveLength(1);
  });

  it('of an app from before the cut-over receives only incoming messages until the same workspace consents again', async () => {
    proves('events.oauth.legacy', 'choice.oauth.legacy-events');
    const [one, two] = [await addWorkspace(), await addWorkspace('447700900197')];
    const app = await register({ legacySubscription: true, ownerWorkspaceId: undefined });
    /** What the app is told of a message in either direction. */
    const exchange = async ({ key, connectionId }: typeof one): Promise<unknown[]> => {
      const before = receiver.requests.length;
      await writeTo(connectionId);
      const body = { connectionId, to: PHONE, text: 'hello' };
      expect((await hook.service.call('POST', '/messages', { key, body })).status).toBe(200);
      await hook.call('POST', '/clock/advance', { ms: 10_000 });
      await settle();
      const events = payloads().slice(before);
      expect(events.filter(({ connection_id: id }) => id !== connectionId)).toEqual([]);
      return [...new Set(events.map(({ event }) => event))].sort();
    };
    for (const workspace of [one, two]) {
      await consentOnPage(app, workspace.id, workspace.connectionId);
      expect(await exchange(workspace)).toEqual(['message.received']);
    }
    await consentOnPage(app, one.id, one.connectionId);
    expect(await exchange(one)).toEqual(['message.received', 'message.status']);
    expect(await exchange(two)).toEqual(['message.received']);
  });
});
