import { createServer } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { connectionListAnswer } from '../../../src/contract/service/connections.ts';
import { listMessagesAnswer } from '../../../src/contract/service/messages.ts';
import { proves } from '../../support/proves.ts';
import { readQr } from '../../support/read-qr.ts';
import { serve } from '../../support/serve.ts';
import { type OauthWorld, type TestApp, worldOfFile } from './oauth-fixture.ts';

const PHONE = '4915100000000';
const EVENTS = ['message.received', 'message.status', 'connection.disconnected', 'connection.connected'];

const world = worldOfFile();
let app: TestApp;
beforeAll(async () => {
  app = await world.register();
});

const call: OauthWorld['service']['call'] = (...given) => world.service.call(...given);

const send = (key: string, connectionId: string) =>
  call('POST', '/messages', { key, body: { connectionId, to: PHONE, text: 'hello' } });

/** Ids of the connections that a credential is shown. */
async function listed(key: string): Promise<string[]> {
  const { body } = await call('GET', '/connections', { key });
  return connectionListAnswer.parse(body).connections.map(({ id }) => id);
}

async function addConnection(phoneNumber: string, workspaceId = world.workspaceId): Promise<string> {
  const { connections } = world.service.platform;
  return (await connections.createPaired(workspaceId, { provider: 'qr', phoneNumber })).id;
}

describe('an access token on the REST API', () => {
  it('has access only to the connections of its grant, while they exist', async () => {
    proves('messages.list.scoped');
    const granted = await addConnection('4915112345001');
    const gone = await addConnection('4915112345002');
    const { access } = await world.obtainTokens(app, { connection_ids: `${granted} ${gone}` });
    for (const id of [granted, gone, world.connectionId]) {
      await world.service.platform.messages.receive(id, { from: PHONE, text: 'hello' });
    }
    expect(await listed(access)).toEqual([granted, gone]);
    await call('DELETE', `/connections/${gone}`, { key: world.key });
    expect(await listed(access)).toEqual([granted]);
    expect((await send(access, gone)).status).toBe(404);
    const { body } = await call('GET', '/messages', { key: access });
    const { messages } = listMessagesAnswer.parse(body);
    expect(messages.map(({ connectionId }) => connectionId)).toEqual([granted]);
  });

  it('is affected by a lapsed license, a revoked grant and a disabled app on the next call', async () => {
    proves('service.gate.unsendable', 'service.gate.expired-hidden', 'errors.license_inactive');
    const { platform } = world.service;
    const lapsing = await addConnection('4915112345003');
    const { access: other } = await world.obtainTokens(app, { connection_ids: lapsing });
    const { access } = await world.obtainTokens(app, { connection_ids: lapsing });
    const sent = async (): Promise<unknown> => {
      const { status, body } = await send(access, lapsing);
      return status === 200 ? status : [status, body];
    };
    expect(await sent()).toBe(200);
    await platform.licenses.set(lapsing, { expiresAt: platform.time.now() - 1 });
    expect(await sent()).toEqual([402, { error: 'license_inactive' }]);
    const marking = { key: access, body: { connectionId: lapsing, phone: PHONE } };
    expect((await call('POST', '/messages/read', marking)).body).toEqual({ error: 'license_inactive' });
    expect(await listed(access)).toEqual([]);
    expect((await call('GET', '/messages', { key: access })).body).toMatchObject({ messages: [] });
    expect((await call('GET', `/connections/${lapsing}`, { key: access })).status).toBe(200);

    await platform.oauth.apps.setEnabled(app.clientId, false);
    expect(await sent()).toEqual([401, { error: 'invalid_token' }]);
    await platform.oauth.apps.setEnabled(app.clientId, true);
    await platform.licenses.set(lapsing, { status: 'active' });
    expect([await sent(), await listed(access)]).toEqual([200, [lapsing]]);

    const [newest] = await platform.oauth.grants.list({ limit: 1 });
    await platform.oauth.grants.revoke(newest?.id ?? '');
    expect(await sent()).toEqual([401, { error: 'invalid_token' }]);
    expect(await listed(other)).toEqual([lapsing]);
  });

  it('adds what it creates to its grant and to no other, but cannot create without a remaining connection', async () => {
    proves('connections.create.first-not-by-oauth', 'choice.oauth.grant', 'errors.invalid_grant');
    const only = await addConnection('4915112345004');
    const { access, refresh } = await world.obtainTokens(app, { connection_ids: only });
    const { access: other } = await world.obtainTokens(app, { connection_ids: only });
    const create = (key: string) =>
      call('POST', '/connections', { key, body: { label: 'new' }, headers: { 'idempotency-key': 'one' } });
    const created = await create(access);
    expect(created.status).toBe(201);
    const { id, qr } = Reflect.get(Object(created.body), 'connection');
    const again = await create(access);
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true']);
    expect(again.body).toMatchObject({ connection: { id } });
    expect((await create(other)).body).toEqual({ error: 'not_found' });
    expect((await call('GET', `/connections/${id}`, { key: access })).status).toBe(200);
    expect((await call('GET', `/connections/${id}`, { key: other })).status).toBe(404);

    expect(await world.service.platform.ownerPhones.scan(id, readQr(qr).text)).toBe('paired');
    const renewed = String((await world.refresh(app, refresh)).body['access_token']);
    expect([await listed(renewed), await listed(other)]).toEqual([[only, id], [only]]);
    expect((await send(renewed, id)).status).toBe(200);

    for (const each of [id, only]) await call('DELETE', `/connections/${each}`, { key: renewed });
    const refused = await call('POST', '/connections', { key: renewed, body: { label: 'first' } });
    expect([refused.status, refused.body]).toEqual([403, { error: 'invalid_grant' }]);
    expect(await listed(renewed)).toEqual([]);
  });

  it('acts on the webhook of its app', async () => {
    proves('choice.oauth.webhook');
    const bare = await world.register();
    const { access } = await world.obtainTokens(bare);
    const shown = async (key: string) => (await call('GET', '/webhook', { key })).body;
    const unset = { url: null, events: EVENTS, secretSet: false };
    expect(await shown(access)).toEqual(unset);
    const early = await call('POST', '/webhook/rotate', { key: access });
    expect([early.status, early.body]).toEqual([400, { error: 'invalid_webhook' }]);
    const url = 'https://app.example/set';
    const put = await call('PUT', '/webhook', { key: access, body: { url } });
    expect([put.status, put.body]).toEqual([200, { url, events: EVENTS, secret: expect.any(String) }]);
    for (const refused of ['http://app.example/', 'https://localhost/', 'https://10.0.0.1/', 'nonsense']) {
      const { status, body } = await call('PUT', '/webhook', { key: access, body: { url: refused } });
      expect([refused, status, body]).toEqual([refused, 400, { error: 'invalid_webhook' }]);
    }
    expect(await shown(access)).toEqual({ url, events: EVENTS, secretSet: true });
    expect((await call('POST', '/webhook/rotate', { key: access })).status).toBe(200);

    const registered = await world.register({ webhookUrl: 'https://app.example/hook' });
    const own = await world.obtainTokens(registered);
    expect(await shown(own.access)).toMatchObject({ url: 'https://app.example/hook', secretSet: true });
    const other = await world.obtainTokens(app);
    for (const key of [other.access, world.key]) expect(await shown(key)).toEqual(unset);
  });

  it('of a legacy app covers only received messages until the workspace consents again', async () => {
    proves('choice.oauth.legacy-events');
    const legacy = await world.register({ legacySubscription: true });
    const events = async (access: string): Promise<unknown> =>
      Reflect.get(Object((await call('GET', '/webhook', { key: access })).body), 'events');
    // A consent whose code was never redeemed is none.
    await world.obtainCode(legacy);
    const before = await world.obtainTokens(legacy);
    expect(await events(before.access)).toEqual(['message.received']);
    const after = await world.obtainTokens(legacy);
    expect(await events(after.access)).toEqual(EVENTS);
  });

  it('is accepted at the legacy address with the same answers, and nothing else of the authorization host is', async () => {
    proves('versioning.legacy', 'versioning.auth-host');
    const { url: origin, close } = await serve(createServer(world.service.platform.legacyApp));
    const bound = { resource: `${world.service.origin}/api/v1` };
    for (const { access: key } of [await world.obtainTokens(app), await world.obtainTokens(app, bound)]) {
      const detail = `/connections/${world.connectionId}`;
      for (const path of ['/connections', '/account', '/messages', '/connections/unknown', detail]) {
        const [usual, legacy] = [
          await call('GET', path, { key }),
          await call('GET', path, { key, at: origin }),
        ];
        expect([path, legacy.status, legacy.body]).toEqual([path, usual.status, usual.body]);
      }
    }
    for (const [method, path] of [
      ['GET', '/.well-known/oauth-authorization-server'],
      ['GET', '/.well-known/oauth-protected-resource'],
      ['GET', '/oauth/jwks'],
      ['GET', '/oauth/authorize'],
      ['POST', '/oauth/token'],
      ['POST', '/api/mcp'],
    ] as const) {
      expect([path, (await fetch(origin + path, { method })).status]).toEqual([path, 404]);
    }
    await close();
  });
});
