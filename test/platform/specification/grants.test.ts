import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { proves } from '../../support/proves.ts';
import { type App, createOauthVisitor, decode, type OauthVisitor } from './oauth-visitor.ts';
import {
  addTenant,
  type Json,
  nextNumber,
  outcomeOf,
  type Reply,
  request,
  startWireService,
  type Tenant,
  type WireService,
} from './wire-service.ts';

/*
 * What an access token is good for on the REST API: the grant behind it, as it stands at the time of the call.
 */

const CONTACT = '447700900201';

describe('an OAuth credential on the REST API', () => {
  let service: WireService;
  let visitor: OauthVisitor;

  beforeAll(async () => {
    service = await startWireService();
    visitor = await createOauthVisitor(service);
  });
  afterAll(() => service.close());

  /** A workspace, and an app that its owner develops. */
  async function addOwner(count = 1): Promise<Tenant & { readonly app: App }> {
    const tenant = await addTenant(service, count);
    const app = await visitor.register({ ownerWorkspaceId: tenant.workspaceId });
    return { ...tenant, app };
  }
  const tokenOf = async (app: App, changes = {}): Promise<string> =>
    (await visitor.obtainTokens(app, changes)).access_token;
  const ask = async (token: string, method: string, path: string, body?: unknown): Promise<string> =>
    outcomeOf(await service.api(token, method, path, body));
  const send = (token: string, connectionId: string): Promise<string> =>
    ask(token, 'POST', '/messages', { connectionId, to: CONTACT, text: 'hello' });
  async function listed(token: string): Promise<string[]> {
    const { body } = await service.api(token, 'GET', '/connections');
    return body.connections.map(({ id }: { id: string }) => id).sort();
  }
  async function grantsOf({ clientId }: App): Promise<Json[]> {
    const { entries } = await service.control('GET', '/grants?limit=100');
    return entries.filter((grant: Json) => grant.clientId === clientId);
  }

  test('is accepted at the legacy address, with the same answers', proves('versioning.legacy'), async () => {
    const { app, first } = await addOwner();
    const token = await tokenOf(app);
    for (const path of [
      '/connections',
      '/account',
      '/messages',
      '/connections/unknown',
      `/connections/${first}`,
    ]) {
      const usual = await service.api(token, 'GET', path);
      const legacy = await service.api(token, 'GET', path, undefined, service.info.legacyBaseUrl);
      expect([legacy.status, legacy.text], path).toEqual([usual.status, usual.text]);
    }
    const bound = await tokenOf(app, { resource: service.info.baseUrl });
    const { status } = await service.api(bound, 'GET', '/account', undefined, service.info.legacyBaseUrl);
    expect(status).toBe(200);
  });

  test(
    'has access to the connections of its grant, and others do not exist for it',
    proves('messages.list.scoped', 'messages.list.foreign-empty'),
    async () => {
      const { app, key, connectionIds } = await addOwner(2);
      const [granted = '', kept = ''] = connectionIds;
      const { first: foreign } = await addOwner();
      for (const id of [granted, kept]) expect(await send(key, id)).toBe('200');
      const token = await tokenOf(app, { connection_ids: granted });
      expect(await listed(token)).toEqual([granted]);
      expect((await grantsOf(app)).map(({ connectionIds: ids }) => ids)).toEqual([[granted]]);
      const refusals = new Set<string>();
      for (const id of [kept, foreign, 'unknown']) {
        const replies: Reply[] = [
          await service.api(token, 'GET', `/connections/${id}`),
          await service.api(token, 'DELETE', `/connections/${id}`),
          await service.api(token, 'POST', `/connections/${id}/restart`),
          await service.api(token, 'POST', `/connections/${id}/logout`),
          await service.api(token, 'POST', `/connections/${id}/pairing-code`, { phoneNumber: CONTACT }),
          await service.api(token, 'POST', '/messages', { connectionId: id, to: CONTACT, text: 'x' }),
          await service.api(token, 'POST', '/messages/read', { connectionId: id, phone: CONTACT }),
        ];
        for (const { status, text } of replies) refusals.add(`${status} ${text}`);
        const { status, body } = await service.api(token, 'GET', `/messages?connectionId=${id}`);
        expect([status, body]).toEqual([200, { messages: [], nextCursor: null, hasMore: false }]);
      }
      expect([...refusals]).toEqual(['404 {"error":"not_found"}\n']);
      const { body: page } = await service.api(token, 'GET', '/messages');
      expect(page.messages.map(({ connectionId }: Json) => connectionId)).toEqual([granted]);
      expect(await listed(key)).toEqual([...connectionIds].sort());
    },
  );

  test('ends with its grant, and loses what the grant loses, from the next call on', async () => {
    const { app, key, connectionIds } = await addOwner(2);
    const [gone = '', stays = ''] = connectionIds;
    const pair = await visitor.obtainTokens(app);
    const other = await tokenOf(app);
    expect(await ask(key, 'DELETE', `/connections/${gone}`)).toBe('200');
    expect(await listed(pair.access_token)).toEqual([stays]);
    expect(await send(pair.access_token, gone)).toBe('404 not_found');
    const mine = decode(pair.access_token).claims;
    const [grant] = (await grantsOf(app)).filter(({ id }) => Object.values(mine).includes(id));
    await service.control('DELETE', `/grants/${grant.id}`);
    const reply = await service.api(pair.access_token, 'GET', '/connections');
    expect(outcomeOf(reply)).toBe('401 invalid_token');
    expect(reply.headers.get('www-authenticate')).toMatch(/^Bearer .*error="invalid_token"/);
    expect(outcomeOf(await visitor.refresh(app, pair.refresh_token))).toBe('400 invalid_grant');
    expect(await ask(other, 'GET', '/connections')).toBe('200');
  });

  test(
    'returns 402 for a lapsed license, and does not list the connection',
    proves('service.gate.unsendable', 'service.gate.expired-hidden', 'errors.license_inactive'),
    async () => {
      const { app, first } = await addOwner();
      const token = await tokenOf(app);
      expect(await send(token, first)).toBe('200');
      await service.control('PUT', `/connections/${first}/licence`, { status: 'expired' });
      expect(await listed(token)).toEqual([]);
      expect((await service.api(token, 'GET', '/messages')).body.messages).toEqual([]);
      expect(await send(token, first)).toBe('402 license_inactive');
      expect(await ask(token, 'POST', '/messages/read', { connectionId: first, phone: CONTACT })).toBe(
        '402 license_inactive',
      );
      expect(await ask(token, 'GET', `/connections/${first}`)).toBe('200');
      await service.control('PUT', `/connections/${first}/licence`, {
        status: 'active',
        expiresAt: new Date((await service.now()) + 86_400_000).toISOString(),
      });
      expect(await listed(token)).toEqual([first]);
      expect(await send(token, first)).toBe('200');
    },
  );

  test('cannot exist before a connection does', proves('auth.oauth.needs-connection'), async () => {
    const { app } = await addOwner(0);
    const { back, page } = await visitor.authorize(app);
    expect(back?.get('code') ?? null).toBeNull();
    const pressed = await page?.press('allow');
    expect(pressed?.back?.get('code') ?? null).toBeNull();
    expect(await grantsOf(app)).toEqual([]);
  });

  test('adds a connection that it creates to its own grant, and to no other', async () => {
    const { app, first } = await addOwner();
    const pair = await visitor.obtainTokens(app);
    const other = await tokenOf(app);
    const made = await service.api(pair.access_token, 'POST', '/connections', { label: 'Second' });
    expect(made.status).toBe(201);
    const { id, qr } = made.body.connection;
    expect(await ask(pair.access_token, 'GET', `/connections/${id}`)).toBe('200');
    expect(await ask(other, 'GET', `/connections/${id}`)).toBe('404 not_found');
    await service.control('POST', `/connections/${id}/scan`, { qr, phoneNumber: nextNumber() });
    const { body: next } = await visitor.refresh(app, pair.refresh_token);
    expect(await listed(next.access_token)).toEqual([first, id].sort());
    expect(await listed(other)).toEqual([first]);
    expect(await send(next.access_token, id)).toBe('200');
  });

  test('creates once per key, and does not show the connection to another grant with the same key', async () => {
    const { app } = await addOwner();
    const create = (token: string) =>
      request(`${service.info.baseUrl}/connections`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'idempotency-key': 'one' },
      });
    const [mine, other] = [await tokenOf(app), await tokenOf(app)];
    const [made, again] = [await create(mine), await create(mine)];
    expect([made.status, again.status]).toEqual([201, 200]);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.body.connection.id).toBe(made.body.connection.id);
    const replayed = await create(other);
    expect(replayed.body).not.toHaveProperty('connection');
    expect(await ask(other, 'GET', `/connections/${made.body.connection.id}`)).toBe('404 not_found');
  });

  test(
    'whose last connection was deleted cannot create another',
    proves('choice.oauth.grant', 'errors.invalid_grant'),
    async () => {
      const { app, first } = await addOwner();
      const token = await tokenOf(app);
      expect(await ask(token, 'DELETE', `/connections/${first}`)).toBe('200');
      expect(await listed(token)).toEqual([]);
      expect(await ask(token, 'POST', '/connections')).toBe('403 invalid_grant');
    },
  );
});
