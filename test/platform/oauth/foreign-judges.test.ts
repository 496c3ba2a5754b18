import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import * as client from 'openid-client';
import { describe, expect, it } from 'vitest';
import { findPortBase } from '../../support/find-free-port.ts';
import { makeFolder } from '../../support/make-folder.ts';
import { proves } from '../../support/proves.ts';
import { spawnCommand } from '../../support/spawn-command.ts';
import { worldOfFile } from './oauth-fixture.ts';

const world = worldOfFile();

/** Where a browser ends up that follows the address of an authorize request. */
async function visit(address: URL): Promise<URL> {
  const answer = await fetch(address, { redirect: 'manual' });
  return new URL(String(answer.headers.get('location')));
}

/** Without a query of its own: openid-client takes the one that it comes back with away. */
const CALLBACK = 'https://crm.example/oauth/callback';

describe('openid-client', () => {
  const discover = async (): Promise<client.Configuration> => {
    const app = await world.register({ redirectUris: [CALLBACK] });
    const proof = client.ClientSecretPost(app.clientSecret);
    return await client.discovery(new URL(world.service.origin), app.clientId, undefined, proof, {
      algorithm: 'oauth2',
      execute: [client.allowInsecureRequests],
    });
  };
  const begin = async (config: client.Configuration) => {
    const pkceCodeVerifier = client.randomPKCECodeVerifier();
    const expectedState = client.randomState();
    const address = client.buildAuthorizationUrl(config, {
      redirect_uri: CALLBACK,
      scope: 'messaging.read messaging.manage',
      code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
      state: expectedState,
    });
    return { back: await visit(address), checks: { pkceCodeVerifier, expectedState } };
  };

  it('gets from the address of the server to tokens, a call, a refresh and a revocation', async () => {
    proves('oauth.discovery', 'oauth.code', 'oauth.client-auth', 'oauth.refresh.rotates');
    proves('oauth.consent.automatic', 'auth.oauth.token', 'limits.tokens', 'choice.oauth.developer');
    const config = await discover();
    const { back, checks } = await begin(config);
    const tokens = await client.authorizationCodeGrant(config, back, checks);
    expect(tokens).toMatchObject({ expires_in: 900, scope: 'messaging.read messaging.manage' });
    const { iat = 0, exp, ...claims } = decodeJwt(tokens.access_token);
    expect(exp).toBe(iat + 900);
    expect(claims).toMatchObject({
      iss: world.service.origin,
      aud: [`${world.service.origin}/api/v1`, `${world.service.origin}/api/mcp`],
      client_id: config.clientMetadata().client_id,
      scope: 'messaging.read messaging.manage',
    });

    const list = new URL(`${world.service.origin}/api/v1/connections`);
    const call = (token: string) => client.fetchProtectedResource(config, token, list, 'GET');
    const called = await call(tokens.access_token);
    expect(await called.json()).toMatchObject({ connections: [{ id: world.connectionId }] });

    const renewed = await client.refreshTokenGrant(config, String(tokens.refresh_token));
    expect(renewed.refresh_token).not.toBe(tokens.refresh_token);
    expect((await call(renewed.access_token)).status).toBe(200);

    await client.tokenRevocation(config, String(renewed.refresh_token));
    await expect(call(renewed.access_token)).rejects.toMatchObject({
      code: 'OAUTH_WWW_AUTHENTICATE_CHALLENGE',
      status: 401,
    });
    await expect(client.refreshTokenGrant(config, String(renewed.refresh_token))).rejects.toMatchObject({
      error: 'invalid_grant',
    });
  });

  it('rejects an answer of another server, for another request, or without an issuer', async () => {
    const config = await discover();
    const { back, checks } = await begin(config);
    const altered = (name: string, value: string | null): URL => {
      const address = new URL(back);
      if (value === null) address.searchParams.delete(name);
      else address.searchParams.set(name, value);
      return address;
    };
    for (const address of [
      altered('iss', 'https://elsewhere.example'),
      altered('iss', null),
      altered('state', 'another'),
      altered('state', null),
    ]) {
      await expect(client.authorizationCodeGrant(config, address, checks)).rejects.toMatchObject({
        code: 'OAUTH_INVALID_RESPONSE',
      });
    }
    expect(await client.authorizationCodeGrant(config, back, checks)).toHaveProperty('refresh_token');
  });
});

/** One check of the suite, as it writes it to a file. */
interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

async function readChecks(folder: string): Promise<Check[]> {
  const files = await readdir(folder, { recursive: true });
  const reports = files.filter((file) => file.endsWith('checks.json'));
  const texts = await Promise.all(reports.map((file) => readFile(join(folder, file), 'utf8')));
  return texts.flatMap((text): Check[] => JSON.parse(text));
}

describe('the conformance suite for authorization servers', () => {
  it('reports exactly the expected results', async () => {
    const expected: Record<string, string> = JSON.parse(
      await readFile(join(import.meta.dirname, 'expected-failures.json'), 'utf8'),
    );
    const { origin } = world.service;
    const port = await findPortBase();
    const app = await world.register({ redirectUris: [`http://127.0.0.1:${port}/callback`] });
    const folder = makeFolder();
    const suite = spawnCommand('conformance', [
      'authorization',
      ...['--url', origin, '--port', String(port), '--resource', `${origin}/api/mcp`],
      ...['--client-id', app.clientId, '--client-secret', app.clientSecret],
      ...['--output-dir', folder],
    ]);
    try {
      const address = await suite.said(/^http.*\/oauth\/authorize\?/);
      await suite.said(/^Callback server started/);
      // The browser of the suite: it follows the redirect to the callback.
      await fetch(address);
      expect((await suite.ended).code).toBe(0);
      const checks = await readChecks(folder);
      expect(checks.map(({ id }) => id).toSorted()).toEqual([
        'authorization-code-grant',
        'authorization-server-metadata',
        'authorization-server-metadata-cimd',
      ]);
      const failed = checks.filter(({ status }) => status !== 'SUCCESS');
      expect(failed.map(({ id }) => id)).toEqual(Object.keys(expected));
    } finally {
      await suite.kill();
    }
  });
});
