import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seedWorkspace } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';
import { type OauthWorld, startOauthWorld, type TestApp } from './oauth-fixture.ts';

let world: OauthWorld;
let app: TestApp;
beforeAll(async () => {
  world = await startOauthWorld();
  app = await world.register();
});
afterAll(() => world.service.close());

const call: OauthWorld['service']['call'] = (...given) => world.service.call(...given);

async function addConnection(phoneNumber: string, workspaceId = world.workspaceId): Promise<string> {
  const { connections } = world.service.platform;
  return (await connections.createPaired(workspaceId, { provider: 'qr', phoneNumber })).id;
}

describe('an access token on the REST API', () => {
  it(
    'has exactly the access of an API key with the same scopes',
    proves('scopes.missing', 'scopes.read', 'scopes.send', 'scopes.events', 'scopes.manage', 'auth.bearer'),
    async () => {
      const paths = [
        ['messaging.read', 'GET', '/connections'],
        ['messaging.read', 'GET', '/account'],
        ['messaging.read', 'GET', '/messages'],
        ['messaging.send', 'POST', '/messages'],
        ['messaging.send', 'POST', '/messages/read'],
        ['messaging.events', 'GET', '/webhook'],
        ['messaging.manage', 'GET', `/connections/${world.connectionId}`],
        ['messaging.manage', 'POST', `/connections/${world.connectionId}/pairing-code`],
      ] as const;
      const bodies: Record<string, object> = {
        '/messages': { connectionId: world.connectionId, to: '4915100000000', text: 'hello' },
        '/messages/read': { connectionId: world.connectionId, phone: '4915100000000' },
        [`/connections/${world.connectionId}/pairing-code`]: { phoneNumber: '4915112345678' },
      };
      for (const held of new Set(paths.map(([scope]) => scope))) {
        const { access } = await world.obtainTokens(app, { scope: held });
        const { key } = await world.service.platform.apiKeys.create(world.workspaceId, { scopes: [held] });
        for (const [scope, method, path] of paths) {
          const body = method === 'POST' ? bodies[path] : undefined;
          const options = body === undefined ? {} : { body };
          const byToken = await call(method, path, { key: access, ...options });
          const byKey = await call(method, path, { key, ...options });
          expect([held, path, byToken.status]).toEqual([held, path, byKey.status]);
          if (scope !== held) expect(byToken.body).toEqual({ error: 'insufficient_scope' });
        }
      }
    },
  );

  it('has access only to the connections of its grant, while they exist', async () => {
    const granted = await addConnection('4915112345001');
    const gone = await addConnection('4915112345002');
    const { access } = await world.obtainTokens(app, { connection_ids: `${granted} ${gone}` });
    const seen = async (): Promise<unknown[]> => {
      const { body } = await call('GET', '/connections', { key: access });
      return [Reflect.get(Object(body), 'connections')].flat().map((one) => Reflect.get(Object(one), 'id'));
    };
    expect(await seen()).toEqual([granted, gone]);
    const outside = await call('GET', `/connections/${world.connectionId}`, { key: access });
    expect([outside.status, outside.body]).toEqual([404, { error: 'not_found' }]);
    await call('DELETE', `/connections/${gone}`, { key: world.key });
    expect(await seen()).toEqual([granted]);
  });

  it('is affected by a lapsed license, a revoked grant and a disabled app on the next call', async () => {
    const { platform } = world.service;
    const lapsing = await addConnection('4915112345003');
    const { access } = await world.obtainTokens(app, { connection_ids: lapsing });
    const send = () =>
      call('POST', '/messages', {
        key: access,
        body: { connectionId: lapsing, to: '4915100000000', text: 'hello' },
      });
    expect((await send()).status).toBe(200);
    await platform.licenses.set(lapsing, { expiresAt: platform.time.now() - 1 });
    const unlicensed = await send();
    expect([unlicensed.status, unlicensed.body]).toEqual([402, { error: 'license_inactive' }]);

    await platform.oauth.apps.setEnabled(app.clientId, false);
    expect((await send()).body).toEqual({ error: 'invalid_token' });
    await platform.oauth.apps.setEnabled(app.clientId, true);
    expect((await send()).status).toBe(402);

    const [newest] = await platform.oauth.grants.list({ limit: 1 });
    await platform.oauth.grants.revoke(newest?.id ?? '');
    expect((await send()).body).toEqual({ error: 'invalid_token' });
  });

  it(
    'adds what it creates to its grant, but cannot create without a remaining connection',
    proves('connections.create.first-not-by-oauth', 'choice.oauth.grant', 'errors.invalid_grant'),
    async () => {
      const only = await addConnection('4915112345004');
      const { access } = await world.obtainTokens(app, { connection_ids: only });
      const created = await call('POST', '/connections', { key: access, body: { label: 'new' } });
      expect(created.status).toBe(201);
      const { id } = Reflect.get(Object(created.body), 'connection');
      expect((await call('GET', `/connections/${id}`, { key: access })).status).toBe(200);
      for (const each of [id, only]) await call('DELETE', `/connections/${each}`, { key: access });
      const refused = await call('POST', '/connections', { key: access, body: { label: 'first' } });
      expect([refused.status, refused.body]).toEqual([403, { error: 'invalid_grant' }]);
      expect((await call('GET', '/connections', { key: access })).body).toEqual({ connections: [] });
    },
  );

  it('acts on the webhook of its app', proves('choice.oauth.webhook'), async () => {
    const own = await world.register({ webhookUrl: 'https://app.example/hook' });
    const { access } = await world.obtainTokens(own);
    const shown = await call('GET', '/webhook', { key: access });
    expect(shown.body).toMatchObject({ url: 'https://app.example/hook', secretSet: true });
    await call('PUT', '/webhook', { key: access, body: { url: 'https://app.example/moved' } });
    expect((await call('GET', '/webhook', { key: access })).body).toMatchObject({
      url: 'https://app.example/moved',
    });
    expect((await call('GET', '/webhook', { key: world.key })).body).toMatchObject({ url: null });
    expect((await call('POST', '/webhook/rotate', { key: access })).status).toBe(200);
    const other = await world.obtainTokens(app);
    expect((await call('GET', '/webhook', { key: other.access })).body).toMatchObject({ url: null });
  });

  it(
    'of a legacy app covers only received messages until the workspace consents again',
    proves('choice.oauth.legacy-events'),
    async () => {
      const legacy = await world.register({ legacySubscription: true });
      const events = async (access: string): Promise<unknown> =>
        Reflect.get(Object((await call('GET', '/webhook', { key: access })).body), 'events');
      const before = await world.obtainTokens(legacy);
      expect(await events(before.access)).toEqual(['message.received']);
      const after = await world.obtainTokens(legacy);
      expect(await events(after.access)).toEqual([
        'message.received',
        'message.status',
        'connection.disconnected',
        'connection.connected',
      ]);
    },
  );

  it('sees nothing of another workspace', async () => {
    const abroad = await seedWorkspace(world.service, { phoneNumber: '4915187654321' });
    const { access } = await world.obtainTokens(app);
    const hidden = await call('GET', `/connections/${abroad.connectionId}`, { key: access });
    expect([hidden.status, hidden.body]).toEqual([404, { error: 'not_found' }]);
  });

  it(
    'is accepted at the legacy address, which has no authorization server',
    proves('versioning.auth-host'),
    async () => {
      const server = createServer((request, response) => world.service.platform.legacyApp(request, response));
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const address = server.address();
      const origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
      const { access } = await world.obtainTokens(app);
      expect((await call('GET', '/connections', { key: access, at: origin })).status).toBe(200);
      for (const path of ['/.well-known/oauth-authorization-server', '/oauth/token', '/oauth/authorize']) {
        expect((await fetch(origin + path)).status).toBe(404);
      }
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  );
});
