import { describe, expect, it } from 'vitest';
import { createOauth } from '../../../src/connector/oauth/oauth.ts';
import { appSubscriptionId } from '../../../src/connector/oauth/oauth-app.ts';
import { syncResult, syncStatus } from '../../../src/contract/connector/sync.ts';
import { createKeyRing } from '../../../src/runtime/sealing/key-ring.ts';
import { collectLog } from '../../support/log-to.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { silentLogger } from '../../support/platform.ts';
import { MINUTE, useGrants } from './grant-world.ts';

const grants = useGrants();
const { ask, accountOf, connect, sync, poll } = grants;

describe('a grant that has ended', () => {
  const outboundOf = async (outboundId: string) =>
    (await ask('GET', `/v1/outbound/${outboundId}`)).body['state'];

  async function end(id: string): Promise<void> {
    grants.auth.revokeAll();
    expect(await poll(id)).toBe('reauth_required');
  }

  it('stops polls and sends, is reported everywhere, and continues after a new consent', async () => {
    grants.world.service.addConnection('waiting-1');
    const id = await connect({ label: 'Florist' });
    const queued = { connectionId: 'waiting-1', to: '15551230000', text: 'later', reference: 'r-1' };
    await end(id);
    const asked = grants.auth.requests.length;
    expect(await accountOf(id)).toMatchObject({
      state: 'reauth_required',
      reauth: { since: expect.any(String), reason: 'invalid_grant', startAt: '/v1/accounts/oauth' },
    });
    const shown = syncStatus.parse((await ask('GET', `/v1/sync?accountId=${id}`)).body);
    expect(shown.accounts[0]?.reauthRequired).toBe(true);
    expect(await sync(id)).toMatchObject({ status: 409, body: { error: 'reauth_required' } });
    expect((await ask('POST', '/v1/connections/waiting-1/restart')).body['error']).toBe('reauth_required');
    const { outboundId } = (await ask('POST', '/v1/messages', { body: queued })).body;
    grants.world.service.requests = [];
    await grants.running.connector.settle();
    grants.world.clock.jump(16 * MINUTE);
    await grants.running.poll(id);
    expect(await outboundOf(String(outboundId))).toBe('queued');
    expect(
      grants.world.service.requests.filter(({ headers }) => headers.authorization !== 'Bearer key-1'),
    ).toEqual([]);
    expect(grants.auth.requests).toHaveLength(asked);
    const metrics = String((await ask('GET', '/metrics')).body['text']);
    expect(metrics).toContain('connector_oauth_grants{state="reauth_required"} 1');
    expect(metrics).toMatch(/connector_oauth_refreshes_total\{outcome="ended"\} [1-9]/);

    grants.world.service.addMessage('waiting-1', grants.world.clock.now(), { id: 'missed-1' });
    grants.world.service.fault = ({ method, path }) =>
      method === 'POST' && path === '/messages'
        ? { status: 200, body: { messageId: 'sent-1', waMessageId: null, status: 'sent' } }
        : undefined;
    expect(await connect({ accountId: id })).toBe(id);
    expect(await accountOf(id)).toMatchObject({ state: 'active', reauth: null, label: 'Florist' });
    await grants.running.connector.settle();
    expect(await outboundOf(String(outboundId))).toBe('sent');
    expect((await ask('GET', '/v1/messages/missed-1')).status).toBe(200);
  });

  it('does not keep other accounts from being polled on demand, and is named in the answer', async () => {
    const id = await connect({ label: 'Florist' });
    grants.world.service.addConnection('other-1');
    await end(id);
    grants.world.service.addMessage('other-1', grants.world.clock.now(), { id: 'missed-by-default' });
    const { status, body } = await ask('POST', '/v1/sync');
    expect(status).toBe(200);
    expect(syncResult.parse(body).failed).toEqual([
      {
        accountId: id,
        error: 'reauth_required',
        message: expect.stringMatching(/^The grant has ended; the customer must consent again\./),
      },
    ]);
    expect((await ask('GET', '/v1/messages/missed-by-default')).status).toBe(200);
  });

  it('is refreshed once: a lost answer to a completed refresh leads to a new consent, not to a loop', async () => {
    const id = await connect();
    grants.world.clock.jump(16 * MINUTE);
    const before = grants.auth.refreshes();
    grants.auth.fault = () => (grants.auth.refreshes() === before + 1 ? 'lost_answer' : undefined);
    await poll(id);
    // The worker that refreshes tokens may have been first.
    expect((await accountOf(id))?.state).toBe('reauth_required');
    grants.world.clock.jump(16 * MINUTE);
    await grants.running.connector.settle();
    await poll(id);
    expect(grants.auth.refreshes()).toBe(before + 2);
  });

  it('does not affect what an earlier consent created if a new one replaces it', async () => {
    const id = await connect();
    const before = grants.auth.requests.length;
    await connect({ accountId: id });
    expect(grants.auth.requests.slice(before).map(({ path }) => path)).toEqual(['/token', '/revoke']);
    expect(await poll(id)).toBeNull();
  });

  it('of an app that was replaced continues with the new app after a consent', async () => {
    const id = await connect();
    await grants.world.database.query(
      "update connector.accounts set subscription_id = 'app-before', base_url = 'http://127.0.0.1:1/api/v1' where id = $1",
      [id],
    );
    await connect({ accountId: id });
    expect(await poll(id)).toBeNull();
    expect(await accountOf(id)).toMatchObject({
      baseUrl: grants.world.service.baseUrl,
      subscriptionId: appSubscriptionId({ authUrl: grants.auth.url, clientId: 'client-1' }),
    });
  });

  it('waits for a consent if the key that encrypted it is lost', async () => {
    const id = await connect();
    await grants.world.database.query('delete from connector.oauth_grants where account_id = $1', [id]);
    expect(await accountOf(id)).toMatchObject({ state: 'reauth_required', reauth: { reason: 'forgotten' } });
    expect((await sync(id)).body['error']).toBe('reauth_required');
    await connect({ accountId: id });
    expect(await poll(id)).toBeNull();
  });

  it('is revoked with its account', async () => {
    const id = await connect();
    const before = grants.auth.requests.length;
    expect((await ask('DELETE', `/v1/accounts/${id}`)).status).toBe(200);
    await grants.running.connector.settle();
    const [revocation] = grants.auth.requests.slice(before);
    expect(revocation?.path).toBe('/revoke');
    expect(revocation?.fields.get('token')).toMatch(/^refresh-/);
  });
});

describe('a process that starts', () => {
  it('updates the address of the service in the accounts of its app, and warns about those of another', async () => {
    const [moved, foreign] = [await connect(), await connect()];
    await grants.world.database.query(
      "update connector.accounts set base_url = 'http://127.0.0.1:1/api/v1' where id = any($1::text[])",
      [[moved, foreign]],
    );
    await grants.world.database.query(
      "update connector.accounts set subscription_id = 'app-before' where id = $1",
      [foreign],
    );
    const { lines, logger } = collectLog('warn');
    const started = createOauth({
      app: grants.auth.app(grants.world.service.baseUrl),
      database: grants.world.database,
      keyRing: createKeyRing([grants.world.sealingKey]),
      clock: grants.world.clock,
      logger,
      owner: 'third',
      random: () => 0,
      keeps: false,
      onRefreshed: () => undefined,
      onGranted: async () => undefined,
    });
    await started.candidate.store(grants.world.database);
    await started.start();
    const [grant] = await grants.world.database.query<{ token: string }>(
      'select sealed_refresh_token as token from connector.oauth_grants where account_id = $1',
      [foreign],
    );
    started.revokeRemoved(foreign, grant?.token ?? '');
    await started.close();
    expect(grants.auth.requests.at(-1)?.path).toBe('/revoke');
    expect(await accountOf(moved)).toMatchObject({ baseUrl: grants.world.service.baseUrl });
    expect(await accountOf(foreign)).toMatchObject({ baseUrl: 'http://127.0.0.1:1/api/v1' });
    expect(lines.find((line) => line.includes('accounts of a different OAuth app'))).toContain('"count":1');
  });

  it('keeps the grants even if the database is away when it warns about others', async () => {
    const { database, service, sealingKey } = grants.world;
    const clock = new ManualClock();
    const started = createOauth({
      app: grants.auth.app(service.baseUrl),
      database: { ...database, query: () => Promise.reject(new Error('the database is away')) },
      keyRing: createKeyRing([sealingKey]),
      clock,
      logger: silentLogger,
      owner: 'fourth',
      random: () => 0,
      keeps: true,
      onRefreshed: () => undefined,
      onGranted: async () => undefined,
    });
    await expect(started.start()).rejects.toThrow();
    expect(clock.pending).toBe(1);
    await started.close();
  });
});
