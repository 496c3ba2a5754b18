import { beforeAll, describe, expect, it } from 'vitest';
import {
  authorizeFields,
  encode,
  type OauthReply,
  PATHS,
  REDIRECT_URI,
  returned,
  type TestApp,
  worldOfFile,
} from './oauth-fixture.ts';

/** What somebody tries who means harm. Each is refused without a 5xx, or means no more than it seems to. */
const world = worldOfFile();
let app: TestApp;
/** Returns to this machine, at this port alone. */
let local: TestApp;
let other: TestApp;
beforeAll(async () => {
  app = await world.register();
  local = await world.register({ redirectUris: ['http://127.0.0.1:4020/callback'] });
  other = await world.register({ name: 'Another' });
});

const works = async (access: string): Promise<boolean> =>
  (await world.service.call('GET', '/connections', { key: access })).status === 200;

describe('an authorize request', () => {
  it('returns to another port of this machine no more than to another host', async () => {
    for (const redirect_uri of [
      'http://127.0.0.1:4021/callback',
      'http://127.0.0.1/callback',
      'http://localhost:4020/callback',
      'http://127.1:4020/callback',
      'http://[::1]:4020/callback',
    ]) {
      expect((await world.authorize(local, { redirect_uri })).status).toBe(400);
    }
  });

  it('is read only from its query, by the exact names of its parameters', async () => {
    const query = encode(authorizeFields(app));
    const send = (method: string, more: string, init: RequestInit = {}) =>
      world.send(method, `${PATHS.authorize}?${query}${more}`, init);
    const encoded = await send('GET', `&client%5Fid=${other.clientId}`);
    expect([encoded.status, encoded.headers.get('location')]).toEqual([400, null]);
    expect(returned(await send('GET', '&stat%65=a&state=b')).get('error')).toBe('invalid_request');
    for (const method of ['POST', 'PUT', 'DELETE', 'HEAD', 'PATCH']) {
      expect([method, (await send(method, '')).status]).toEqual([method, 405]);
    }
    expect((await world.send('GET', `${PATHS.authorize};a?${query}`)).status).toBe(404);
    // Objects that this server does not know change nothing, whatever they say.
    const claims = { redirect_uri: 'https://evil.example/', scope: 'messaging.manage', client_id: 'x' };
    const object = `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.`;
    for (const more of [
      `&request=${object}`,
      '&request_uri=https://evil.example/object',
      '&prompt=none&max_age=0&login_hint=x&id_token_hint=y',
      '&client_id[]=x&Redirect_Uri=https://evil.example/&redirect_uri%00=x',
    ]) {
      const reply = await send('GET', `${more}&scope=messaging.read`);
      expect(reply.headers.get('location')?.startsWith(`${REDIRECT_URI}&code=`), more).toBe(true);
      const [grant] = await world.service.platform.oauth.grants.list({ limit: 1 });
      expect(grant).toMatchObject({ appId: app.clientId, scopes: ['messaging.read'] });
    }
  });

  it('returns its state unchanged, whatever it contains', async () => {
    for (const state of [
      '\r\nSet-Cookie: a=b',
      '\u0000',
      '"><script>',
      '&code=x&iss=y',
      '💣',
      'x'.repeat(8_000),
    ]) {
      const reply = await world.authorize(app, { state });
      expect(returned(reply).getAll('state')).toEqual([state]);
      expect(returned(reply).getAll('code')).toHaveLength(1);
      expect(reply.headers.get('set-cookie')).toBeNull();
    }
  });
});

describe('a token request', () => {
  const refused = async (reply: Promise<OauthReply>): Promise<unknown[]> => {
    const { status, body } = await reply;
    return [status, body['error'], 'access_token' in body];
  };

  it('returns nothing once the grant or the app is disabled, and only approved scopes', async () => {
    const { apps, grants } = world.service.platform.oauth;
    const off = await world.register();
    const code = await world.obtainCode(off);
    const { refresh } = await world.obtainTokens(off, { scope: 'messaging.read' });
    for (const scope of ['messaging.read messaging.send', 'messaging.manage', 'messaging.read openid']) {
      expect(await refused(world.refresh(off, refresh, { scope }))).toEqual([400, 'invalid_scope', false]);
    }
    await apps.setEnabled(off.clientId, false);
    expect(await refused(world.redeem(off, code))).toEqual([401, 'invalid_client', false]);
    expect(await refused(world.refresh(off, refresh))).toEqual([401, 'invalid_client', false]);
    await apps.setEnabled(off.clientId, true);
    for (const { id } of await grants.list({ limit: 2 })) await grants.revoke(id);
    expect(await refused(world.redeem(off, code))).toEqual([400, 'invalid_grant', false]);
    expect(await refused(world.refresh(off, refresh))).toEqual([400, 'invalid_grant', false]);
  });
});

describe('at once', () => {
  it('twenty uses of a code return tokens once, and end them', async () => {
    const code = await world.obtainCode(app);
    const replies = await Promise.all(Array.from({ length: 20 }, () => world.redeem(app, code)));
    const tokens = replies.filter(({ status }) => status === 200);
    expect(tokens).toHaveLength(1);
    expect(replies.filter(({ body }) => body['error'] === 'invalid_grant')).toHaveLength(19);
    expect(await works(String(tokens[0]?.body['access_token']))).toBe(false);
  });

  it('fifty refreshes return tokens once, and end the grant', async () => {
    const { refresh } = await world.obtainTokens(app);
    const replies = await Promise.all(Array.from({ length: 50 }, () => world.refresh(app, refresh)));
    const [winner, second] = replies.filter(({ status }) => status === 200);
    expect([winner?.status, second]).toEqual([200, undefined]);
    expect(replies.filter(({ body }) => body['error'] === 'invalid_grant')).toHaveLength(49);
    const next = await world.refresh(app, String(winner?.body['refresh_token']));
    expect(next.body['error']).toBe('invalid_grant');
  });

  it('refreshes and a revocation leave no valid token', async () => {
    for (let round = 0; round < 3; round += 1) {
      const { access, refresh } = await world.obtainTokens(app);
      const proof = { client_id: app.clientId, client_secret: app.clientSecret };
      const replies = await Promise.all([
        world.refresh(app, refresh),
        world.post(PATHS.revoke, { ...proof, token: refresh }),
        world.refresh(app, refresh),
      ]);
      expect(replies.every(({ status }) => status < 500)).toBe(true);
      const given = replies.map(({ body }) => body['access_token']).filter((token) => token !== undefined);
      for (const token of [access, ...given]) expect(await works(String(token))).toBe(false);
    }
  });
});

describe('a revocation', () => {
  it('without valid client authentication ends nothing', async () => {
    const { access, refresh } = await world.obtainTokens(app);
    const mine = { client_id: app.clientId, client_secret: app.clientSecret };
    const theirs = { client_id: other.clientId, client_secret: other.clientSecret };
    for (const fields of [
      { token: refresh },
      { client_id: app.clientId, token: refresh },
      { ...mine, client_secret: other.clientSecret, token: refresh },
      { ...theirs, token: refresh },
      { ...theirs, token: access, token_type_hint: 'refresh_token' },
      { ...theirs, client_id: [other.clientId, app.clientId], token: refresh },
      { ...mine, token: `${refresh} ` },
    ]) {
      expect((await world.post(PATHS.revoke, fields)).status).toBeLessThan(500);
      expect(await works(access)).toBe(true);
    }
    const unknown = { ...mine, token: refresh, token_type_hint: 'unknown' };
    expect((await world.post(PATHS.revoke, unknown)).status).toBe(200);
    expect(await works(access)).toBe(false);
  });
});
