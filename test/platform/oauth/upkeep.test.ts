import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { beforeEach, describe, expect, it } from 'vitest';
import { ofTest } from '../../support/of-file.ts';
import { proves } from '../../support/proves.ts';
import { PATHS, startOauthWorld, type TestApp } from './oauth-fixture.ts';

const DAY = 86_400_000;

const world = ofTest(startOauthWorld, ({ service }) => service.close());
let app: TestApp;
beforeEach(async () => {
  app = await world.register();
});

const pass = (ms: number) => world.service.platform.time.advance({ ms });
const works = async (access: string): Promise<boolean> =>
  (await world.service.call('GET', '/connections', { key: access })).status === 200;
const readJwks = async () => (await world.send('GET', PATHS.jwks)).body as unknown as JSONWebKeySet;

it('the JWKS has the one key that signs all tokens, also after a restart and a year', async () => {
  const jwks = await readJwks();
  expect(jwks.keys).toHaveLength(1);
  await world.service.restart();
  await pass(365 * DAY);
  const { access } = await world.obtainTokens(app);
  const currentDate = new Date(world.service.platform.time.now());
  const { protectedHeader } = await jwtVerify(access, createLocalJWKSet(jwks), { currentDate });
  expect(protectedHeader.kid).toBe(jwks.keys[0]?.kid);
  expect(await readJwks()).toEqual(jwks);
});

describe('a limit', () => {
  it('ends a grant a year after its consent, even if it is refreshed', async () => {
    proves('choice.oauth.grant-end');
    let { access, refresh } = await world.obtainTokens(app);
    for (let days = 0; days < 364; days += 28) {
      await pass(28 * DAY);
      const { status, body } = await world.refresh(app, refresh);
      expect([days, status]).toEqual([days, 200]);
      [access, refresh] = [String(body['access_token']), String(body['refresh_token'])];
    }
    await pass(DAY - 1_000);
    const { status, body } = await world.refresh(app, refresh);
    expect(status).toBe(200);
    [access, refresh] = [String(body['access_token']), String(body['refresh_token'])];
    expect(await works(access)).toBe(true);
    await pass(1_000);
    expect(await works(access)).toBe(false);
    const late = await world.refresh(app, refresh);
    expect([late.status, late.body['error']]).toEqual([400, 'invalid_grant']);
    expect((await world.obtainTokens(app)).access).toEqual(expect.any(String));
  });
});
