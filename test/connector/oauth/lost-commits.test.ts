import { beforeAll, describe, expect, it } from 'vitest';
import { createConsents } from '../../../src/connector/oauth/consents.ts';
import { readGrant } from '../../../src/connector/oauth/grant-store.ts';
import { appSubscriptionId } from '../../../src/connector/oauth/oauth-app.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { DatabaseUnavailable } from '../../../src/runtime/database/errors.ts';
import { createKeyRing, generateSealingKey } from '../../../src/runtime/sealing/key-ring.ts';
import { replaceCalls } from '../../support/replace-calls.ts';
import { databaseOfFile, silentLogger } from '../support/event-fixtures.ts';

const SERVICE = 'http://127.0.0.1:1/api/v1';
const app = {
  authUrl: 'http://auth.example',
  clientId: 'client-1',
  clientSecret: 'client-secret-1',
  publicUrl: 'http://127.0.0.1:4020',
  baseUrl: SERVICE,
};
const subscriptionId = appSubscriptionId(app);
const keyRing = createKeyRing([generateSealingKey()]);
const database = databaseOfFile();
/** Waits for nothing. */
const impatientClock = { ...systemClock, sleep: async () => undefined };

beforeAll(async () => {
  await database.query('insert into connector.subscriptions (id) values ($1)', [subscriptionId]);
});

let revoked: string[];

/**
 * A consent whose first read after its code was redeemed fails, and whose first commits succeed, or fail, but are not
 * answered. Returns the account.
 */
async function consent(commits: boolean, refreshToken: string, accountId?: string, losses = 1) {
  revoked = [];
  let lost = 0;
  let failing = 0;
  const losing = replaceCalls(database, {
    async query(...call) {
      if (failing === 0) return await database.query<never>(...call);
      failing -= 1;
      throw new DatabaseUnavailable('lost', 'lost');
    },
    async transaction(...call) {
      if (lost === losses) return await database.transaction(...call);
      lost += 1;
      if (commits) await database.transaction(...call);
      throw new DatabaseUnavailable('lost', 'lost', { mayHaveCommitted: true });
    },
  });
  const issued = { accessToken: 'access-2', refreshToken, expiresInMs: 900_000, scope: null };
  let state = '';
  const consents = createConsents({
    database: losing,
    keyRing,
    clock: impatientClock,
    logger: silentLogger,
    app,
    baseUrl: SERVICE,
    subscriptionId,
    server: {
      async authorizationUrl(request) {
        state = request.state;
        return 'http://auth.example/authorize';
      },
      async redeem() {
        failing = 1;
        return issued;
      },
      refresh: async () => issued,
      revoke: async () => undefined,
    },
    onGranted: async () => undefined,
    revoke: async (token) => void revoked.push(token),
  });
  const started = await consents.begin(accountId === undefined ? {} : { accountId });
  const secret = (): string => 'cookie-1';
  await consents.goOn(started.authorizationUrl.split('/').at(-1) ?? '', secret);
  const { end } = await consents.finish(new URLSearchParams({ state, code: 'code-1' }), secret);
  if (end.kind !== 'connected') throw new Error(`the consent ended as ${end.kind}`);
  return end.accountId;
}

describe.each(['committed', 'not committed'])('a grant whose commit was not answered, %s', (which) => {
  const commits = which === 'committed';

  it('is the grant of one account and is not revoked', async () => {
    const before = await database.query('select from connector.accounts');
    const accountId = await consent(commits, 'refresh-1');
    expect(revoked).toEqual([]);
    expect(await database.query('select from connector.accounts')).toHaveLength(before.length + 1);
    expect(await readGrant(database, accountId)).toMatchObject({ endedAt: null });
  });

  it('is not revoked as the one that it replaces', async () => {
    const accountId = await consent(commits, 'refresh-1');
    await consent(commits, 'refresh-2', accountId);
    // After a commit that was not answered, it is no longer known which one it has replaced.
    expect(revoked).toEqual(commits ? [] : ['refresh-1']);
  });
});

it('a grant is not revoked while nobody knows whether it is stored', async () => {
  await expect(consent(true, 'refresh-1', undefined, 6)).rejects.toThrow('lost');
  expect(revoked).toEqual([]);
});
