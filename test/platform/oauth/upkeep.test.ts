import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OauthWorld, PATHS, startOauthWorld, type TestApp } from './oauth-fixture.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

let world: OauthWorld;
let app: TestApp;
beforeAll(async () => {
  world = await startOauthWorld();
  app = await world.register();
});
afterAll(() => world.service.close());

const pass = (ms: number) => world.service.platform.time.advance({ ms });
const works = async (access: string): Promise<boolean> =>
  (await world.service.call('GET', '/connections', { key: access })).status === 200;

describe('the key that signs', () => {
  const readJwks = async () => (await world.send('GET', PATHS.jwks)).body as unknown as JSONWebKeySet;
  const kidsOf = ({ keys }: JSONWebKeySet): unknown[] => keys.map(({ kid }) => kid);
  const issue = async (): Promise<string> => (await world.obtainTokens(app)).access;
  /** What a client does that has read the JWKS some time ago. */
  const accepts = async (jwks: JSONWebKeySet, token: string): Promise<string | undefined> => {
    const currentDate = new Date(world.service.platform.time.now());
    const { protectedHeader } = await jwtVerify(token, createLocalJWKSet(jwks), { currentDate });
    return protectedHeader.kid;
  };
  const stored = async (): Promise<unknown[]> =>
    (await world.service.database.query('SELECT kid FROM platform.oauth_signing_keys')).map(({ kid }) => kid);

  it('is followed by one that the JWKS has shown for a day, and stays until its last token has ended', async () => {
    const first = await readJwks();
    expect(first.keys).toHaveLength(1);
    await pass(89 * DAY - MINUTE);
    expect(kidsOf(await readJwks())).toEqual(kidsOf(first));

    await pass(MINUTE);
    const [both] = await Promise.all([readJwks(), readJwks(), issue()]);
    const [next, old] = kidsOf(both);
    expect([old, both.keys.length]).toEqual([kidsOf(first)[0], 2]);
    await pass(DAY - MINUTE);
    const last = await issue();
    expect(await accepts(first, last)).toBe(old);

    await world.service.restart();
    await pass(MINUTE);
    const fresh = await issue();
    expect(await accepts(both, fresh)).toBe(next);
    await expect(accepts(first, fresh)).rejects.toThrow('no applicable key');
    expect(kidsOf(await readJwks())).toEqual([next, old]);
    expect(await works(last)).toBe(true);

    await pass(14 * MINUTE);
    expect([await works(last), await works(fresh)]).toEqual([false, true]);
    await pass(MINUTE);
    expect(kidsOf(await readJwks())).toEqual([next]);
    expect(await stored()).toEqual([next]);
    expect(await works(await issue())).toBe(true);
  });

  it('is shown for a day before it signs, too, where nobody asked for a year', async () => {
    const before = await readJwks();
    await pass(365 * DAY);
    expect(await accepts(before, await issue())).toBe(kidsOf(before)[0]);
    expect((await readJwks()).keys).toHaveLength(2);
  });
});
