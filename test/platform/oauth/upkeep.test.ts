import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createCleanUp } from '../../../src/platform/oauth/clean-up.ts';
import { behindGate, type CommitChange, type StateChange } from '../../../src/platform/time/state-change.ts';
import { createWriteGate } from '../../../src/platform/time/write-gate.ts';
import { silentLogger } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';
import { type OauthWorld, PATHS, startOauthWorld, type TestApp } from './oauth-fixture.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

let world: OauthWorld;
let app: TestApp;
beforeEach(async () => {
  world = await startOauthWorld();
  app = await world.register();
});
afterEach(() => world.service.close());

const pass = (ms: number) => world.service.platform.time.advance({ ms });
const works = async (access: string): Promise<boolean> =>
  (await world.service.call('GET', '/connections', { key: access })).status === 200;
const readJwks = async () => (await world.send('GET', PATHS.jwks)).body as unknown as JSONWebKeySet;

describe('the signing key', () => {
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

  it('is followed by one that the JWKS has shown for a day, and stays until its last token has expired', async () => {
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

  it('is shown for a day before it signs, also after a year without requests', async () => {
    const before = await readJwks();
    await pass(365 * DAY);
    expect(await accepts(before, await issue())).toBe(kidsOf(before)[0]);
    expect((await readJwks()).keys).toHaveLength(2);
  });
});

describe('ended OAuth records', () => {
  const count = async (table: string): Promise<unknown> =>
    (await world.service.database.query(`SELECT count(*) AS rows FROM platform.${table}`))[0]?.['rows'];
  const counts = () =>
    Promise.all(['oauth_consents', 'oauth_codes', 'oauth_refresh_tokens', 'oauth_grants'].map(count));
  /** Any answer of the server, and what it does afterwards. */
  const touch = async (): Promise<void> => {
    await readJwks();
    await world.service.platform.settle();
  };

  it('are deleted by virtual time, except those that detect a second use', async () => {
    expect(await counts()).toEqual([0, 0, 0, 0]);

    // Nothing is approved in a portal without a question.
    const portal = await world.service.platform.workspaces.create({ kind: 'crm_portal' });
    await world.authorize(await world.register({ ownerWorkspaceId: portal.id }));
    const unredeemed = await world.obtainCode(app);
    const code = await world.obtainCode(app);
    const first = String((await world.redeem(app, code)).body['refresh_token']);
    await pass(20 * DAY);
    const second = String((await world.refresh(app, first)).body['refresh_token']);
    await touch();
    expect(await counts()).toEqual([0, 2, 2, 2]);

    // The first token is past its 30 days, the code that was never redeemed past its grant's.
    await pass(11 * DAY);
    await touch();
    expect(await counts()).toEqual([0, 1, 1, 1]);
    expect((await world.redeem(app, unredeemed)).body['error']).toBe('invalid_grant');
    const third = String((await world.refresh(app, second)).body['refresh_token']);
    expect((await world.redeem(app, code)).body['error']).toBe('invalid_grant');
    expect((await world.refresh(app, third)).body['error']).toBe('invalid_grant');

    await pass(30 * DAY - 1);
    await touch();
    expect(await count('oauth_grants')).toBe(1);
    await pass(61 * MINUTE);
    await touch();
    expect(await counts()).toEqual([0, 0, 0, 0]);
  });

  it('are deleted in batches, except the last grant of a legacy app', async () => {
    const { database } = world.service;
    const legacy = await world.register({ legacySubscription: true });
    await world.obtainTokens(legacy);
    await world.obtainTokens(legacy);
    for (let tokens = 0; tokens < 5; tokens += 1) await world.obtainTokens(app);
    const now = world.service.platform.time.now() + 61 * DAY;
    const sizes: number[] = [];
    const change: CommitChange = Object.assign(
      <T>(work: (change: StateChange) => Promise<T>): Promise<T> =>
        database.transaction((tx) =>
          work({
            tx: {
              query: async <Row extends object>(text: string, values?: readonly unknown[]) => {
                const rows = await tx.query<Row>(text, values);
                sizes.push(rows.length);
                return rows;
              },
            },
            now,
            recordEvents: async () => undefined,
            recordTransition: async () => undefined,
            schedule: async () => undefined,
          }),
        ),
      { gate: 'held' } as const,
    );
    const changeState = behindGate(change, createWriteGate());
    const cleanUp = createCleanUp({ changeState, clock: { now: () => now }, logger: silentLogger, batch: 2 });
    await cleanUp();
    expect(Math.max(...sizes)).toBe(2);
    expect(await counts()).toEqual([0, 1, 0, 1]);
    await cleanUp();
    expect(sizes).toHaveLength(9);
  });
});

describe('a limit', () => {
  it(
    'ends a grant a year after its consent, even if it is refreshed',
    proves('choice.oauth.grant-end'),
    async () => {
      let { access, refresh } = await world.obtainTokens(app);
      for (let days = 0; days < 364; days += 28) {
        await pass(28 * DAY);
        const { status, body } = await world.refresh(app, refresh);
        expect([days, status]).toEqual([days, 200]);
        [access, refresh] = [String(body['access_token']), String(body['refresh_token'])];
      }
      expect(await works(access)).toBe(true);
      await pass(DAY);
      const late = await world.refresh(app, refresh);
      expect([late.status, late.body['error']]).toEqual([400, 'invalid_grant']);
      expect((await world.obtainTokens(app)).access).toEqual(expect.any(String));
    },
  );

  it(
    'bounds the open consent pages of each app, also while time is frozen',
    proves('choice.oauth.consents-bounded'),
    async () => {
      const { id: ownerWorkspaceId } = await world.service.platform.workspaces.create({ kind: 'standalone' });
      const [asked, quiet] = [
        await world.register({ ownerWorkspaceId }),
        await world.register({ ownerWorkspaceId }),
      ];
      const count = async ({ clientId }: TestApp): Promise<number> => {
        const rows = await world.service.database.query(
          'SELECT 1 FROM platform.oauth_consents WHERE app_id = $1',
          [clientId],
        );
        return rows.length;
      };
      await world.service.platform.time.freeze();
      expect((await world.authorize(quiet)).status).toBe(200);
      await world.service.database.query(
        `INSERT INTO platform.oauth_consents (id, app_id, browser_hash, request, expires_at)
         SELECT 'c' || n, $1, '\\x00', '{}', $2 FROM generate_series(1, 1000) n`,
        [asked.clientId, world.service.platform.time.now() + DAY],
      );
      for (let page = 0; page < 3; page += 1) expect((await world.authorize(asked)).status).toBe(200);
      expect([await count(asked), await count(quiet)]).toEqual([1_000, 1]);
      const left = await world.service.database.query(
        'SELECT id FROM platform.oauth_consents WHERE app_id = $1 ORDER BY position LIMIT 1',
        [asked.clientId],
      );
      expect(left).toEqual([{ id: 'c4' }]);
    },
  );
});
