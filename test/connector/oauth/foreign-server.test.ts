import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import Provider from 'oidc-provider';
import { beforeAll, describe, expect, it } from 'vitest';
import { createAuthorizationServer } from '../../../src/connector/oauth/authorization-server.ts';
import type { OauthApp } from '../../../src/connector/oauth/oauth-app.ts';
import { OauthRefusal } from '../../../src/connector/oauth/oauth-errors.ts';
import { createServiceClient } from '../../../src/connector/service-client/service-client.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { Browser } from '../../support/browser.ts';
import { ofFile } from '../../support/of-file.ts';
import { serve } from '../../support/serve.ts';
import { ConnectorWorld } from '../support/running-connector.ts';

const PUBLIC_URL = 'https://crm.example';
const CALLBACK = `${PUBLIC_URL}/oauth/callback`;
const server = createServer();
const listener = ofFile(() => serve(server));
let provider: Provider;
let app: OauthApp;

/*
 * Peculiarities of this server, met here so that the client need not know of them:
 * - unless told otherwise it issues refresh tokens for the scope `offline_access` with `prompt=consent` alone;
 * - it knows no `connection_ids` and ignores them;
 * - it takes `client_secret_basic` beside `client_secret_post`, unless its metadata is narrowed;
 * - its access tokens are no JWTs: a resource server asks it about them.
 */
beforeAll(() => {
  const issuer = listener.url;
  app = {
    authUrl: issuer,
    clientId: 'foreign-client',
    clientSecret: 'a secret with blanks & signs: +%/=',
    publicUrl: `${PUBLIC_URL}/`,
    baseUrl: `${issuer}/api/v1`,
  };
  provider = new Provider(issuer, {
    clients: [
      {
        client_id: app.clientId,
        client_secret: app.clientSecret,
        redirect_uris: [CALLBACK],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    scopes: ['messaging.read'],
    clientAuthMethods: ['client_secret_post'],
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false }, revocation: { enabled: true } },
    interactions: { url: (_context, { uid }) => `/approve/${uid}` },
    issueRefreshToken: () => true,
    rotateRefreshToken: true,
    ttl: {
      AccessToken: 900,
      AuthorizationCode: 60,
      Grant: 3_600,
      Interaction: 600,
      RefreshToken: 3_600,
      Session: 600,
    },
    cookies: { keys: ['a key of this test'] },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  });
  const answer = provider.callback();
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (request.url?.startsWith('/approve/')) void approve(request, response);
    else if (request.url?.startsWith('/api/v1/')) void answerResource(request, response);
    else void answer(request, response);
  });
});

/** Somebody signs in and says yes. */
async function approve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const accountId = 'customer-1';
  const grant = new provider.Grant({ accountId, clientId: app.clientId });
  grant.addOIDCScope('messaging.read');
  const grantId = await grant.save();
  await provider.interactionFinished(request, response, { login: { accountId }, consent: { grantId } });
}

/** A resource server that takes this server's tokens. */
async function answerResource(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
  const isGood = (await provider.AccessToken.find(token)) !== undefined;
  response.writeHead(isGood ? 200 : 401, { 'content-type': 'application/json' });
  response.end(JSON.stringify(isGood ? { connections: [] } : { error: 'invalid_token' }));
}

/** Goes where a browser would go until it leaves this server. */
async function visit(address: string): Promise<URL> {
  return new URL((await new Browser().follow(address, PUBLIC_URL)).url);
}

describe('the OAuth client with an independent authorization server', () => {
  const checks = { state: 'a-state-of-43-characters-or-so', codeVerifier: 'v'.repeat(43) };

  it('completes discovery, consent, tokens, a call, a refresh and a revocation', async () => {
    const server = createAuthorizationServer(app, systemClock);
    const request = { ...checks, scopes: ['messaging.read'], connectionIds: ['c1', 'c2'] };
    const back = await visit(await server.authorizationUrl(request));
    expect(`${back.origin}${back.pathname}`).toBe(CALLBACK);
    expect(back.searchParams.get('iss')).toBe(app.authUrl);

    const first = await server.redeem(back.searchParams, checks);
    expect(first).toMatchObject({ expiresInMs: 900_000, scope: 'messaging.read' });
    const list = (token: string) =>
      createServiceClient({ baseUrl: app.baseUrl, token: () => token, clock: systemClock }).listConnections();
    expect(await list(first.accessToken)).toMatchObject({ items: [], invalid: [] });

    const second = await server.refresh(first.refreshToken ?? '');
    expect(second.refreshToken).not.toBe(first.refreshToken);
    expect(await list(second.accessToken)).toMatchObject({ items: [], invalid: [] });

    await server.revoke(second.refreshToken ?? '');
    await expect(list(second.accessToken)).rejects.toMatchObject({ status: 401 });
    await expect(server.refresh(second.refreshToken ?? '')).rejects.toMatchObject({ error: 'invalid_grant' });
  });

  it('detects the reuse of a refresh token, which ends the grant', async () => {
    const server = createAuthorizationServer(app, systemClock);
    const back = await visit(await server.authorizationUrl({ ...checks, scopes: ['messaging.read'] }));
    const { refreshToken } = await server.redeem(back.searchParams, checks);
    const next = await server.refresh(refreshToken ?? '');
    await expect(server.refresh(refreshToken ?? '')).rejects.toBeInstanceOf(OauthRefusal);
    await expect(server.refresh(next.refreshToken ?? '')).rejects.toMatchObject({ error: 'invalid_grant' });
  });

  it('reports by name a wrong secret, a code used twice and a verifier that does not belong to it', async () => {
    const server = createAuthorizationServer(app, systemClock);
    const address = await server.authorizationUrl({ ...checks, scopes: ['messaging.read'] });
    const back = (await visit(address)).searchParams;
    const other = { ...checks, codeVerifier: 'w'.repeat(43) };
    await expect(server.redeem(back, other)).rejects.toMatchObject({ error: 'invalid_grant' });
    const again = (await visit(address)).searchParams;
    await server.redeem(again, checks);
    await expect(server.redeem(again, checks)).rejects.toMatchObject({ error: 'invalid_grant' });
    const stranger = createAuthorizationServer({ ...app, clientSecret: 'wrong' }, systemClock);
    await expect(stranger.refresh('anything')).rejects.toMatchObject({ error: 'invalid_client' });
  });

  it('refuses a server with a different issuer, and plain http to another machine', async () => {
    const elsewhere = { ...app, authUrl: app.authUrl.replace('127.0.0.1', 'localhost') };
    const misnamed = createAuthorizationServer(elsewhere, systemClock);
    await expect(misnamed.authorizationUrl(checks)).rejects.toMatchObject({ mayHaveActed: false });
    const plain = createAuthorizationServer({ ...app, authUrl: 'http://auth.example' }, systemClock);
    await expect(plain.authorizationUrl(checks)).rejects.toMatchObject({ mayHaveActed: false });
  });
});

describe('a connector with an independent authorization server', () => {
  it('connects only the browser that continued from the start address', async () => {
    const world = await ConnectorWorld.open();
    const running = await world.start({ oauth: app });
    const open = (): Browser => new Browser({ [PUBLIC_URL]: () => running.url });
    const [own, victim] = [open(), open()];
    const body = { scopes: ['messaging.read'], reference: 'customer-42' };
    const started = await running.ask('POST', '/v1/accounts/oauth', { body });
    const startUrl = String(started.body['authorizationUrl']);
    expect(startUrl).toMatch(/^https:\/\/crm\.example\/oauth\/start\/[\w-]{43}$/);
    const authorizationUrl = await own.goOn(startUrl);
    const listed = async () => {
      const { body: found } = await running.ask('GET', '/v1/accounts?reference=customer-42');
      return found['accounts'];
    };

    // The address of the server was forwarded: somebody else signs in there and says yes.
    const refused = await victim.follow(authorizationUrl);
    expect([refused.status, new URL(refused.url).pathname]).toEqual([403, '/oauth/callback']);
    expect(refused.text).toContain('<h1>Started in another browser</h1>');
    expect(await listed()).toEqual([]);

    const page = await own.follow(authorizationUrl);
    expect([page.status, page.text]).toEqual([200, expect.stringContaining('<h1>Connected</h1>')]);
    expect(await listed()).toMatchObject([{ kind: 'oauth', reference: 'customer-42', state: 'active' }]);
    await world.close();
  });
});
