import { beforeAll, describe, expect, it } from 'vitest';
import {
  authorizeFields,
  encode,
  type Fields,
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
  app = await world.register({ redirectUris: [REDIRECT_URI, 'https://crm.example/second'] });
  local = await world.register({ redirectUris: ['http://127.0.0.1:4020/callback'] });
  other = await world.register({ name: 'Another' });
});

const FORM = 'application/x-www-form-urlencoded';
const works = async (access: string): Promise<boolean> =>
  (await world.service.call('GET', '/connections', { key: access })).status === 200;

describe('an authorize request', () => {
  it('never redirects to an address that only resembles the registered one', async () => {
    const likes = [
      'https://crm.example/oauth%2Fcallback?tenant=7',
      'https://crm.example/oauth/callback?tenant=%37',
      'https://crm.example/oauth/callback/?tenant=7',
      'https://crm.example/oauth//callback?tenant=7',
      'https://crm.example/oauth/./callback?tenant=7',
      'https://crm.example\\@evil.example/oauth/callback?tenant=7',
      'https://evil.example\\.crm.example/oauth/callback?tenant=7',
      'https://user:word@crm.example/oauth/callback?tenant=7',
      'https://crm.example/oauth/callback?tenant=7\u0000',
      'https://crm.example/oauth/callback?tenant=7 ',
      ' https://crm.example/oauth/callback?tenant=7',
      'https://crm.example/oauth/callback?tenant=7\r\nLocation: https://evil.example',
      'https://crm.example/oauth/call\tback?tenant=7',
      'https://crm。example/oauth/callback?tenant=7',
      'https://ｃrm.example/oauth/callback?tenant=7',
      'HTTPS://crm.example/oauth/callback?tenant=7',
      '//crm.example/oauth/callback?tenant=7',
      'https:crm.example/oauth/callback?tenant=7',
      'https://crm.example/oauth/callback?tenant=7&code=stolen',
      `${REDIRECT_URI},https://evil.example/`,
      `["${REDIRECT_URI}"]`,
    ];
    for (const redirect_uri of likes) {
      const reply = await world.authorize(app, { redirect_uri });
      expect([redirect_uri, reply.status, reply.headers.get('location')]).toEqual([redirect_uri, 400, null]);
      expect(reply.text).not.toContain('evil.example');
    }
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

  it('is refused for a parameter that only resembles a valid one', async () => {
    const { origin } = world.service;
    const cases: readonly (readonly [string, Fields, string])[] = [
      ['a form that is posted', { response_mode: 'form_post' }, 'invalid_request'],
      ['a signed answer', { response_mode: 'query.jwt' }, 'invalid_request'],
      ['a message between windows', { response_mode: 'web_message' }, 'invalid_request'],
      ['a code in capitals', { response_type: 'CODE' }, 'unsupported_response_type'],
      ['a code with a blank', { response_type: ' code' }, 'unsupported_response_type'],
      ['a challenge of other letters', { code_challenge: 'Ａ'.repeat(43) }, 'invalid_request'],
      ['a challenge with a line end', { code_challenge: `${'A'.repeat(43)}\n` }, 'invalid_request'],
      ['a challenge in base64', { code_challenge: `${'A'.repeat(42)}+` }, 'invalid_request'],
      ['a method with a blank', { code_challenge_method: 'S256 ' }, 'invalid_request'],
      ['scopes parted by a tab', { scope: 'messaging.read\tmessaging.send' }, 'invalid_scope'],
      ['scopes parted by two blanks', { scope: 'messaging.read  messaging.send' }, 'invalid_scope'],
      ['a scope in wide letters', { scope: 'messaging．read' }, 'invalid_scope'],
      ['a thousand scopes', { scope: 'messaging.read x'.repeat(500) }, 'invalid_scope'],
      ['a name of every object', { scope: '__proto__ constructor' }, 'invalid_scope'],
      ['a resource with a slash', { resource: `${origin}/api/v1/` }, 'invalid_target'],
      ['a resource with a fragment', { resource: `${origin}/api/v1#x` }, 'invalid_target'],
      ['a resource with a query', { resource: `${origin}/api/v1?x` }, 'invalid_target'],
      ['a resource in capitals', { resource: `${origin}/API/V1` }, 'invalid_target'],
      ['a part of the resource', { resource: `${origin}/api` }, 'invalid_target'],
      ['the server as resource', { resource: origin }, 'invalid_target'],
      ['two resources', { resource: [`${origin}/api/v1`, `${origin}/api/mcp`] }, 'invalid_target'],
      ['connections as SQL', { connection_ids: "' OR '1'='1" }, 'invalid_request'],
      ['connections parted by commas', { connection_ids: `${world.connectionId},x` }, 'invalid_request'],
      ['connections with NUL', { connection_ids: `${world.connectionId}\u0000` }, 'invalid_request'],
    ];
    for (const [what, fields, error] of cases) {
      const reply = await world.authorize(app, fields);
      expect([what, reply.status, returned(reply).get('error')]).toEqual([what, 303, error]);
      expect(returned(reply).get('code')).toBeNull();
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

  it('returns nothing for a code of another client, and does not use up the code', async () => {
    const code = await world.obtainCode(app);
    const foreign = await world.obtainTokens(other);
    const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
    const cases: readonly (readonly [string, Fields, number, string])[] = [
      [
        'the second address of the client',
        { redirect_uri: 'https://crm.example/second' },
        400,
        'invalid_grant',
      ],
      ['the address, encoded', { redirect_uri: `${REDIRECT_URI}%20` }, 400, 'invalid_grant'],
      [
        'the address without its query',
        { redirect_uri: 'https://crm.example/oauth/callback' },
        400,
        'invalid_grant',
      ],
      ['the challenge as verifier', { code_verifier: challenge }, 400, 'invalid_grant'],
      ['a verifier with NUL', { code_verifier: `${code.verifier}\u0000` }, 400, 'invalid_request'],
      ['a code with a blank', { code: `${code.code} ` }, 400, 'invalid_grant'],
      ['a code in capitals', { code: code.code.toUpperCase() }, 400, 'invalid_grant'],
      ['a part of the code', { code: code.code.slice(0, -1) }, 400, 'invalid_grant'],
      ['a refresh token as code', { code: foreign.refresh }, 400, 'invalid_grant'],
      ['an access token as code', { code: foreign.access }, 400, 'invalid_grant'],
      ['SQL as code', { code: "' OR 1=1 --" }, 400, 'invalid_grant'],
      [
        'a code as refresh token',
        { grant_type: 'refresh_token', refresh_token: code.code },
        400,
        'invalid_grant',
      ],
      [
        'an access token as refresh token',
        { grant_type: 'refresh_token', refresh_token: foreign.access },
        400,
        'invalid_grant',
      ],
      [
        'a refresh token of another',
        { grant_type: 'refresh_token', refresh_token: foreign.refresh },
        400,
        'invalid_grant',
      ],
      [
        'a device',
        { grant_type: 'urn:ietf:params:oauth:grant-type:device_code' },
        400,
        'unsupported_grant_type',
      ],
      [
        'an assertion',
        { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer' },
        400,
        'unsupported_grant_type',
      ],
      ['a name of every object', { grant_type: 'constructor' }, 400, 'unsupported_grant_type'],
      ['the grant type in capitals', { grant_type: 'Authorization_Code' }, 400, 'unsupported_grant_type'],
      [
        'a key in place of the secret',
        {
          client_secret: undefined,
          client_assertion: 'a.b.c',
          client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        },
        401,
        'invalid_client',
      ],
      [
        'the hash of the secret',
        { client_secret: Buffer.from(app.clientSecret).toString('hex') },
        401,
        'invalid_client',
      ],
      ['a secret with NUL', { client_secret: `${app.clientSecret}\u0000` }, 401, 'invalid_client'],
      ['a client as SQL', { client_id: "' OR '1'='1" }, 401, 'invalid_client'],
      ['another resource', { resource: `${world.service.origin}/api/v1/` }, 400, 'invalid_target'],
    ];
    for (const [what, fields, status, error] of cases) {
      expect([what, ...(await refused(world.redeem(app, code, fields)))]).toEqual([
        what,
        status,
        error,
        false,
      ]);
    }
    const redeemed = await world.redeem(app, code, { scope: 'messaging.read' });
    expect(redeemed.status).toBe(200);
    expect(await works(foreign.access)).toBe(true);
  });

  it('is not read in another format, character set or place', async () => {
    const code = await world.obtainCode(app);
    const right = encode({
      client_id: app.clientId,
      client_secret: app.clientSecret,
      grant_type: 'authorization_code',
      code: code.code,
      code_verifier: code.verifier,
      redirect_uri: REDIRECT_URI,
    });
    const types = [
      `${FORM}; charset=utf-16`,
      `${FORM}; charset=utf-7`,
      `${FORM}; charset=ibm037`,
      `${FORM}; charset=utf-8; charset=utf-16`,
      `${FORM}, application/json`,
      'multipart/form-data; boundary=x',
      'application/x-www-form-urlencodedx',
      'application/json',
    ];
    for (const type of types) {
      const headers = { 'content-type': type };
      const reply = world.send('POST', PATHS.token, { headers, body: right });
      expect([type, ...(await refused(reply))]).toEqual([type, 400, 'invalid_request', false]);
    }
    const headers = { 'content-type': FORM };
    for (const body of [
      `${right}&code=x`,
      `${right}&c%6fde=x`,
      right.replaceAll('&', ';'),
      Buffer.from(right, 'utf16le'),
    ]) {
      expect((await refused(world.send('POST', PATHS.token, { headers, body })))[2]).toBe(false);
    }
    const bearer = { ...headers, authorization: `Bearer ${app.clientSecret}` };
    const byHeader = await world.send('POST', PATHS.token, {
      headers: bearer,
      body: right.replace(/client_secret=[^&]*&/, ''),
    });
    expect([byHeader.status, byHeader.headers.get('www-authenticate')]).toEqual([
      401,
      'Bearer realm="oauth"',
    ]);
    const utf8 = { 'content-type': `${FORM}; Charset="UTF-8"` };
    expect((await world.send('POST', PATHS.token, { headers: utf8, body: right })).status).toBe(200);
  });

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
