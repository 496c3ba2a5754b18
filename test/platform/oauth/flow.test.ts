import { decodeJwt } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { seedWorkspace } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';
import { PATHS, returned, startOauthWorld, worldOfFile } from './oauth-fixture.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

const world = worldOfFile();

describe('a foreign client', () => {
  it('finds one issuer in all documents, and keys without private parts', async () => {
    proves('oauth.paths');
    const { origin } = world.service;
    const { body, headers } = await world.send('GET', '/.well-known/oauth-authorization-server');
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(body).toEqual({
      issuer: origin,
      authorization_endpoint: `${origin}/oauth/authorize`,
      token_endpoint: `${origin}/oauth/token`,
      revocation_endpoint: `${origin}/oauth/revoke`,
      jwks_uri: `${origin}/oauth/jwks`,
      scopes_supported: ['messaging.read', 'messaging.send', 'messaging.events', 'messaging.manage'],
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_methods_supported: ['client_secret_post'],
      revocation_endpoint_auth_methods_supported: ['client_secret_post'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
    });
    const jwks = await world.send('GET', PATHS.jwks);
    expect(jwks.body).toEqual({
      keys: [
        {
          kty: 'EC',
          crv: 'P-256',
          x: expect.any(String),
          y: expect.any(String),
          kid: expect.any(String),
          alg: 'ES256',
          use: 'sig',
        },
      ],
    });
    const app = await world.register();
    const reply = await world.authorize(app);
    expect(returned(reply).get('iss')).toBe(origin);
    expect(returned(reply).get('state')).toBe('xyz');
  });

  it('keeps its key after a restart, and stores no token unencrypted', async () => {
    const app = await world.register();
    const code = await world.obtainCode(app);
    const { body } = await world.redeem(app, code);
    const access = String(body['access_token']);
    await world.service.restart();
    expect((await world.service.call('GET', '/connections', { key: access })).status).toBe(200);
    const tables = ['oauth_apps', 'oauth_grants', 'oauth_codes', 'oauth_refresh_tokens'];
    for (const table of tables) {
      const rows = await world.service.database.query(`SELECT t::text AS row FROM platform.${table} t`);
      for (const secret of [code.code, app.clientSecret, String(body['refresh_token']), access]) {
        const hex = Buffer.from(secret).toString('hex');
        for (const { row } of rows)
          expect(String(row).includes(secret) || String(row).includes(hex)).toBe(false);
      }
    }
  });
});

describe('consent', () => {
  it('is asked for unless the developer owns one standalone workspace with a connection', async () => {
    proves('oauth.consent.automatic', 'choice.oauth.developer', 'auth.oauth.needs-connection');
    const empty = await world.service.platform.workspaces.create({ kind: 'standalone' });
    const portal = await seedWorkspace(world.service, { kind: 'crm_portal' });
    for (const ownerWorkspaceId of [empty.id, portal.workspaceId]) {
      const reply = await world.authorize(await world.register({ ownerWorkspaceId }));
      expect([reply.status, reply.headers.get('location')]).toEqual([200, null]);
    }
  });
});

describe('registration', () => {
  it('accepts only HTTPS, loopback and private-use addresses', async () => {
    const register = (uri: string) => world.register({ redirectUris: [uri] });
    for (const uri of [
      'https://a.example/cb',
      'http://127.0.0.1:8080/cb',
      'http://[::1]/cb',
      'com.example.app:/cb',
    ]) {
      expect((await register(uri)).clientId).toMatch(/^c[0-9a-z]{24}$/);
    }
    for (const uri of [
      'http://a.example/cb',
      'https://a.example/cb#x',
      'https://u:p@a.example/cb',
      'javascript:alert(1)',
      'data:text/html,x',
      'myapp:/cb',
      'https://a.example/c b',
    ]) {
      await expect(register(uri), uri).rejects.toMatchObject({
        code: 'invalid_request',
        field: 'redirectUris',
      });
    }
  });

  it('refuses an address that could inject into a header', async () => {
    for (const uri of [
      'https://a,default-src/cb',
      'https://a;script-src/cb',
      "https://a'/cb",
      'https://*.a.example/cb',
      'https://a.example/cb#',
      'https://a.example/c\u0000b',
      'https://a.example/cb\r\nX: y',
      'http://127.0.0.1.evil.example/cb',
      'http://localhost.evil.example/cb',
      'file:///etc/passwd',
      'about:blank',
      'vbscript:x',
      'blob:https://a.example/x',
      'com.example.app;x:/cb',
    ]) {
      await expect(world.register({ redirectUris: [uri] }), uri).rejects.toMatchObject({
        code: 'invalid_request',
      });
    }
  });
});

describe('time', () => {
  it('ends an access token after 15 minutes and a refresh token after 30 days, to the millisecond', async () => {
    proves('auth.oauth.token', 'limits.tokens');
    // It takes months, in which keys are replaced and licenses expire.
    const own = await startOauthWorld();
    const { service } = own;
    onTestFinished(() => service.close());
    const { time } = service.platform;
    const app = await own.register();
    const [{ access, refresh }, unused] = [await own.obtainTokens(app), await own.obtainTokens(app)];
    const start = time.now();
    const { iat = 0, exp = 0 } = decodeJwt(access);
    expect([iat, exp - iat]).toEqual([Math.floor(start / 1_000), 900]);
    await time.advance({ to: exp * 1_000 - 1 });
    expect((await service.call('GET', '/connections', { key: access })).status).toBe(200);
    await time.advance({ to: exp * 1_000 });
    const late = await service.call('GET', '/connections', { key: access });
    expect([late.status, late.body]).toEqual([401, { error: 'invalid_token' }]);
    expect(late.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');

    await time.advance({ to: start + 30 * DAY - 1 });
    const second = await own.refresh(app, refresh);
    expect(second.status).toBe(200);
    await time.advance({ to: start + 30 * DAY });
    const ended = await own.refresh(app, unused.refresh);
    expect([ended.status, ended.body['error']]).toEqual([400, 'invalid_grant']);
    await time.advance({ to: start + 59 * DAY });
    const third = await own.refresh(app, String(second.body['refresh_token']));
    expect(third.status).toBe(200);
    await time.advance({ to: start + 89 * DAY });
    const gone = await own.refresh(app, String(third.body['refresh_token']));
    expect([gone.status, gone.body['error']]).toEqual([400, 'invalid_grant']);
  });

  it('ends a code after a minute', async () => {
    const { service } = world;
    const app = await world.register();
    const code = await world.obtainCode(app);
    await service.platform.time.advance({ to: service.platform.time.now() + MINUTE });
    const { status, body } = await world.redeem(app, code);
    expect([status, body['error']]).toEqual([400, 'invalid_grant']);
  });
});
