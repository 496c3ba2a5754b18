import { describe, expect, it } from 'vitest';
import { proves } from '../../support/proves.ts';
import { MINUTE, useGrants } from './grant-world.ts';

const grants = useGrants();
const { ask, accountOf, connect, sync, poll } = grants;

describe('the access token of a grant', () => {
  it('is refreshed by a worker three minutes before its expiry, and not earlier', async () => {
    proves('oauth.refresh.serialized');
    await connect();
    const before = grants.auth.refreshes();
    grants.world.clock.jump(11 * MINUTE);
    await grants.running.connector.settle();
    expect(grants.auth.refreshes()).toBe(before);
    grants.world.clock.jump(MINUTE);
    await grants.running.connector.settle();
    await grants.running.connector.settle();
    expect(grants.auth.refreshes()).toBe(before + 1);
  });

  it('that is refused with 401 is refreshed once, and the call is repeated once', async () => {
    proves('oauth.refresh.on-401');
    grants.world.service.addConnection('refused-once');
    const id = await connect();
    const first = [...grants.world.service.apiKeys].filter((key) => key.startsWith('access-')).at(-1) ?? '';
    grants.world.service.apiKeys.delete(first);
    const before = grants.auth.refreshes();
    expect((await sync(id)).status).toBe(200);
    expect(grants.auth.refreshes()).toBe(before + 1);
    grants.world.service.requests = [];
    grants.world.service.fault = ({ path, headers }) =>
      path === '/connections' && headers.authorization !== 'Bearer key-1'
        ? { status: 401, body: { error: 'invalid_token' } }
        : undefined;
    expect((await sync(id)).status).toBe(502);
    expect(grants.auth.refreshes()).toBe(before + 2);
    expect(grants.world.service.requests.filter(({ path }) => path === '/connections')).toHaveLength(2);
    // The next one would be refused as well, as by the page of a proxy.
    for (const refreshes of [2, 3]) {
      expect((await sync(id)).status).toBe(502);
      expect(grants.auth.refreshes()).toBe(before + refreshes);
      // Without a newer token, the call is not repeated.
      if (refreshes === 2)
        expect(grants.world.service.requests.filter(({ path }) => path === '/connections')).toHaveLength(3);
      // A poll that begins by itself would make the next one wait.
      await grants.world.database.query('update connector.poll_states set due_at = due_at + $1', [
        9 * MINUTE,
      ]);
      await grants.world.clock.advance(MINUTE);
    }
    grants.world.service.fault = () => undefined;
  });

  it('that cannot be refreshed after a 401 leaves a send queued, because nothing was sent', async () => {
    grants.world.service.addConnection('sending-1');
    await connect();
    grants.world.service.fault = ({ method, path }) =>
      method === 'POST' && path === '/messages'
        ? { status: 401, body: { error: 'invalid_token' } }
        : undefined;
    grants.auth.fault = () => 'reset';
    const data = Buffer.from('a file').toString('base64');
    const media = { filename: 'a.png', mimetype: 'image/png', data };
    const body = { connectionId: 'sending-1', to: '15551230000', media, reference: 'refused-file' };
    const { outboundId } = (await ask('POST', '/v1/messages', { body })).body;
    await grants.running.connector.settle();
    expect((await ask('GET', `/v1/outbound/${outboundId}`)).body).toMatchObject({
      state: 'queued',
      lastError: 'oauth_network',
    });
    grants.world.service.fault = ({ method, path }) =>
      method === 'POST' && path === '/messages'
        ? { status: 200, body: { messageId: 'sent-2', waMessageId: null, status: 'sent' } }
        : undefined;
    grants.auth.fault = () => undefined;
    grants.world.clock.jump(16 * MINUTE);
    await grants.running.connector.settle();
    expect((await ask('GET', `/v1/outbound/${outboundId}`)).body['state']).toBe('sent');
  });

  it('is requested again after a server error, a reset before the server acted, and a wrong client secret', async () => {
    const id = await connect();
    for (const [fault, code] of [
      [{ status: 500, body: { error: 'server_error' } }, 'oauth_unreadable'],
      ['reset', 'oauth_network'],
      [{ status: 401, body: { error: 'invalid_client' } }, 'oauth_invalid_client'],
    ] as const) {
      grants.world.clock.jump(16 * MINUTE);
      grants.auth.fault = () => fault;
      expect(await poll(id)).toBe(code);
      expect((await accountOf(id))?.state).toBe('active');
      grants.auth.fault = () => undefined;
      grants.world.clock.jump(6 * MINUTE);
      expect(await poll(id)).toBeNull();
    }
    const text = String((await ask('GET', '/metrics')).body['text']);
    for (const outcome of ['refreshed', 'failed'])
      expect(text).toMatch(new RegExp(`connector_oauth_refreshes_total\\{outcome="${outcome}"\\} [1-9]`));
  });

  it('is requested again after a wait that doubles with each failure', async () => {
    const id = await connect();
    grants.world.clock.jump(16 * MINUTE);
    grants.auth.fault = () => ({ status: 401, body: { error: 'invalid_client' } });
    const requested: number[] = [];
    for (const seconds of [0, 5, 9, 1]) {
      const before = grants.auth.refreshes();
      grants.world.clock.jump(seconds * 1_000);
      await poll(id);
      requested.push(grants.auth.refreshes() - before);
    }
    expect(requested).toEqual([1, 1, 0, 1]);
  });

  it('is used until its end if there is no refresh token', async () => {
    const id = await connect();
    await grants.world.database.query('update connector.oauth_grants set sealed_refresh_token = null');
    grants.world.clock.jump(14 * MINUTE);
    await grants.running.connector.settle();
    await grants.running.connector.settle();
    expect((await accountOf(id))?.state).toBe('active');
  });

  it('is waited for twice for ten seconds, and requested again later', async () => {
    const id = await connect();
    grants.world.clock.jump(16 * MINUTE);
    const nextRequest = () =>
      new Promise<void>((resolve) => {
        grants.auth.onRequest = () => resolve();
      });
    grants.auth.fault = () => 'hang';
    const first = nextRequest();
    const polling = poll(id);
    await first;
    const second = nextRequest();
    await grants.world.clock.advance(10_000);
    await second;
    await grants.world.clock.advance(10_000);
    expect(await polling).toBe('oauth_deadline');
    grants.auth.fault = () => undefined;
    grants.auth.onRequest = () => undefined;
    grants.world.clock.jump(6 * MINUTE);
    expect(await poll(id)).toBeNull();
  });

  it('does not wait for what failed before a clock that was hours ahead was set back', async () => {
    const id = await connect();
    grants.world.clock.jump(180 * MINUTE);
    grants.auth.fault = () => 'reset';
    expect(await poll(id)).toBe('oauth_network');
    grants.world.clock.jump(-180 * MINUTE);
    grants.auth.fault = () => undefined;
    grants.world.service.apiKeys.clear();
    expect(await poll(id)).toBeNull();
  });

  it('is requested with the same refresh token if an answer was lost before the server acted', async () => {
    const id = await connect();
    grants.world.clock.jump(16 * MINUTE);
    let faults = 0;
    grants.auth.fault = () => (faults++ === 0 ? 'reset' : undefined);
    const before = grants.auth.requests.length;
    expect(await poll(id)).toBeNull();
    const tokens = grants.auth.requests.slice(before).map(({ fields }) => fields.get('refresh_token'));
    expect(tokens).toHaveLength(2);
    expect(new Set(tokens).size).toBe(1);
  });
});
