import { createRemoteJWKSet, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { proves } from '../../support/proves.ts';
import { type App, createOauthVisitor, decode, type OauthVisitor, REDIRECT_URI } from './oauth-visitor.ts';
import {
  addTenant,
  outcomeOf,
  request,
  requestJson,
  startWireService,
  type Tenant,
  type WireService,
} from './wire-service.ts';

/*
 * The authorization server, from the specification's words on OAuth 2.0 and the RFCs that it builds on. Nothing is
 * taken from the code; what the service says of itself comes from its discovery document.
 */

const SECOND = 1000;
const DAY = 86_400 * SECOND;

describe('the authorization server', () => {
  let service: WireService;
  let visitor: OauthVisitor;
  let tenant: Tenant;
  /** Its developer owns one workspace with a connection, so nobody is asked. */
  let app: App;

  beforeAll(async () => {
    service = await startWireService();
    visitor = await createOauthVisitor(service);
    tenant = await addTenant(service, 2);
    app = await visitor.register({ ownerWorkspaceId: tenant.workspaceId });
  });
  afterAll(() => service.close());

  const useOf = async (token: string): Promise<string> =>
    outcomeOf(await service.api(token, 'GET', '/connections'));

  describe('discovery', () => {
    test('contains one issuer, which everything else repeats byte for byte', async () => {
      const { issuer } = visitor.metadata;
      expect(issuer).toBe(service.info.authUrl);
      expect(issuer).not.toMatch(/\/$/);
      const { access_token: token } = await visitor.obtainTokens(app);
      expect(decode(token).claims.iss).toBe(issuer);
      expect((await visitor.authorize(app)).back?.get('iss')).toBe(issuer);
      expect((await visitor.authorize(app, { scope: 'nonsense' })).back?.get('iss')).toBe(issuer);
      for (const path of ['/api/mcp', '']) {
        const { body } = await request(`${issuer}/.well-known/oauth-protected-resource${path}`);
        expect(body.authorization_servers).toEqual([issuer]);
      }
    });

    test('and its endpoints are not on the legacy host', proves('versioning.auth-host'), async () => {
      const legacy = new URL(service.info.legacyBaseUrl).origin;
      const { authorization_endpoint: authorize, token_endpoint: token, jwks_uri: keys } = visitor.metadata;
      const paths = ['/.well-known/oauth-authorization-server', '/.well-known/oauth-protected-resource'];
      for (const url of [...paths.map((path) => service.info.authUrl + path), keys, authorize]) {
        expect((await request(legacy + new URL(url).pathname)).status, url).toBe(404);
      }
      for (const url of [token, service.info.mcpUrl]) {
        expect((await request(legacy + new URL(url).pathname, { method: 'POST' })).status, url).toBe(404);
      }
    });
  });

  describe('an access token', () => {
    test('is a JWT that anybody can verify with the published keys', async () => {
      const pair = await visitor.obtainTokens(app, { scope: 'messaging.send messaging.read' });
      const { header, claims } = decode(pair.access_token);
      expect(header.typ).toBe('at+jwt');
      await jwtVerify(pair.access_token, createRemoteJWKSet(new URL(visitor.metadata.jwks_uri)), {
        issuer: visitor.metadata.issuer,
        audience: service.info.baseUrl,
        typ: 'at+jwt',
        requiredClaims: ['exp', 'iat', 'sub', 'jti', 'client_id'],
        currentDate: new Date(await service.now()),
      });
      const { body: published } = await request(visitor.metadata.jwks_uri);
      for (const key of published.keys) expect(key).not.toHaveProperty('d');
      expect(claims.client_id).toBe(app.clientId);
      expect(claims.scope.split(' ').sort()).toEqual(['messaging.read', 'messaging.send']);
      expect([claims.aud].flat().sort()).toEqual([service.info.baseUrl, service.info.mcpUrl].sort());
      const other = await visitor.obtainTokens(app);
      expect(decode(other.access_token).claims.jti).not.toBe(claims.jti);
    });

    test('is returned in an answer that must not be cached', async () => {
      const reply = await visitor.redeem(app, await visitor.obtainCode(app));
      expect(reply.status).toBe(200);
      expect(reply.headers.get('content-type')).toMatch(/^application\/json/);
      expect(reply.headers.get('cache-control')).toMatch(/no-store/);
      expect(reply.body).toMatchObject({
        token_type: expect.stringMatching(/^bearer$/i),
        expires_in: 900,
        access_token: expect.any(String),
        refresh_token: expect.any(String),
      });
    });

    test('lives 15 minutes, to the millisecond', proves('auth.oauth.token', 'limits.tokens'), async () => {
      const issuedAt = await service.now();
      const { access_token: token } = await visitor.obtainTokens(app);
      const { iat, exp } = decode(token).claims;
      expect([iat, exp - iat]).toEqual([Math.floor(issuedAt / SECOND), 900]);
      await service.moveTo(exp * SECOND - 1);
      expect(await useOf(token)).toBe('200');
      await service.moveTo(exp * SECOND);
      expect(await useOf(token)).toBe('401 invalid_token');
    });

    test('bound to one resource is refused at the other', async () => {
      const { baseUrl, mcpUrl } = service.info;
      const atTools = async (token: string): Promise<number> => {
        const headers = { authorization: `Bearer ${token}`, accept: 'application/json, text/event-stream' };
        return (await requestJson(mcpUrl, 'POST', PING, headers)).status;
      };
      const forApi = await visitor.obtainTokens(app, { resource: baseUrl });
      expect([decode(forApi.access_token).claims.aud].flat()).toEqual([baseUrl]);
      expect([await useOf(forApi.access_token), await atTools(forApi.access_token)]).toEqual(['200', 401]);
      const forTools = await visitor.obtainTokens(app, { resource: mcpUrl });
      expect([decode(forTools.access_token).claims.aud].flat()).toEqual([mcpUrl]);
      expect([await useOf(forTools.access_token), await atTools(forTools.access_token)]).toEqual([
        '401 invalid_token',
        200,
      ]);
      const anywhere = await visitor.obtainTokens(app);
      const narrow = await visitor.refresh(app, anywhere.refresh_token, { resource: mcpUrl });
      expect([await useOf(narrow.body.access_token), await atTools(narrow.body.access_token)]).toEqual([
        '401 invalid_token',
        200,
      ]);
      const next = await visitor.refresh(app, forTools.refresh_token);
      expect(await useOf(next.body.access_token)).toBe('401 invalid_token');
      const wider = await visitor.refresh(app, next.body.refresh_token, { resource: baseUrl });
      expect(outcomeOf(wider)).toBe('400 invalid_target');
    });
  });

  describe('an authorize request', () => {
    test('returns its state unchanged, none if it had none, and ignores unknown parameters', async () => {
      const state = 'täst +&=%20?#/\\"<>';
      expect((await visitor.authorize(app, { state })).back?.get('state')).toBe(state);
      const { back } = await visitor.authorize(app, { state: undefined, nobody_knows: 'this' });
      expect([...(back?.keys() ?? [])].sort()).toEqual(['code', 'iss']);
    });

    test('may contain parameters without a value, which count as omitted', async () => {
      const { back } = await visitor.authorize(app, { scope: '', state: '', resource: '' });
      expect([...(back?.keys() ?? [])].sort()).toEqual(['code', 'iss']);
      const { body: pair } = await visitor.redeem(app, String(back?.get('code')), { resource: '' });
      expect(pair.scope?.split(' ')).toHaveLength(4);
      const { body: next } = await visitor.refresh(app, pair.refresh_token, { scope: '', resource: '' });
      expect(next.scope?.split(' ')).toHaveLength(4);
      expect(await useOf(next.access_token)).toBe('200');
      const empty = await visitor.authorize(app, { code_challenge_method: '' });
      expect(empty.back?.get('error')).toBe('invalid_request');
    });

    test('redirects to a URI with a query, and keeps the query', async () => {
      const uri = `${REDIRECT_URI}?tenant=7`;
      const queried = await visitor.register({
        ownerWorkspaceId: tenant.workspaceId,
        redirectUris: [uri, REDIRECT_URI],
      });
      const { back } = await visitor.authorize(queried, { redirect_uri: uri });
      expect(back?.get('tenant')).toBe('7');
      const code = String(back?.get('code'));
      expect(outcomeOf(await visitor.redeem(queried, code))).toBe('400 invalid_grant');
      expect((await visitor.redeem(queried, code, { redirect_uri: uri })).status).toBe(200);
    });
  });

  describe('the token endpoint', () => {
    test('accepts a code once: its second use ends the grant of the first', async () => {
      const code = await visitor.obtainCode(app);
      const { body: pair } = await visitor.redeem(app, code);
      const { body: next } = await visitor.refresh(app, pair.refresh_token);
      expect(await useOf(next.access_token)).toBe('200');
      expect(outcomeOf(await visitor.redeem(app, code))).toBe('400 invalid_grant');
      expect([await useOf(pair.access_token), await useOf(next.access_token)]).toEqual([
        '401 invalid_token',
        '401 invalid_token',
      ]);
      expect(outcomeOf(await visitor.refresh(app, next.refresh_token))).toBe('400 invalid_grant');
    });
  });

  describe('a refresh', () => {
    test(
      'returns a new pair and invalidates the old token, whose reuse ends the grant',
      proves('oauth.refresh.rotates'),
      async () => {
        const [first, other] = [await visitor.obtainTokens(app), await visitor.obtainTokens(app)];
        const { body: second } = await visitor.refresh(app, first.refresh_token);
        expect(second.refresh_token).not.toBe(first.refresh_token);
        expect(second.expires_in).toBe(900);
        const { body: third } = await visitor.refresh(app, second.refresh_token);
        expect(await useOf(third.access_token)).toBe('200');
        expect(outcomeOf(await visitor.refresh(app, first.refresh_token))).toBe('400 invalid_grant');
        expect(outcomeOf(await visitor.refresh(app, third.refresh_token))).toBe('400 invalid_grant');
        for (const { access_token: token } of [first, second, third]) {
          expect(await useOf(token)).toBe('401 invalid_token');
        }
        expect(await useOf(other.access_token)).toBe('200');
        expect((await visitor.refresh(app, other.refresh_token)).status).toBe(200);
      },
    );

    test('may narrow the token, and the next one has the complete grant again', async () => {
      const { refresh_token: token } = await visitor.obtainTokens(app);
      const { body: narrow } = await visitor.refresh(app, token, { scope: 'messaging.send' });
      expect([narrow.scope, decode(narrow.access_token).claims.scope]).toEqual([
        'messaging.send',
        'messaging.send',
      ]);
      expect(await useOf(narrow.access_token)).toBe('403 insufficient_scope');
      const { body: whole } = await visitor.refresh(app, narrow.refresh_token);
      expect(await useOf(whole.access_token)).toBe('200');
    });

    test(
      'accepts each token for 30 days, to the millisecond',
      proves('auth.oauth.token', 'limits.tokens'),
      async () => {
        const issuedAt = await service.now();
        const [kept, late] = [await visitor.obtainTokens(app), await visitor.obtainTokens(app)];
        await service.moveTo(issuedAt + 30 * DAY - 1);
        const { status, body: next } = await visitor.refresh(app, kept.refresh_token);
        expect(status).toBe(200);
        await service.moveTo(issuedAt + 30 * DAY);
        expect(outcomeOf(await visitor.refresh(app, late.refresh_token))).toBe('400 invalid_grant');
        await service.moveTo(issuedAt + 59 * DAY);
        expect((await visitor.refresh(app, next.refresh_token)).status).toBe(200);
      },
    );
  });
});

const PING = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};
