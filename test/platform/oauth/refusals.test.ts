import { beforeAll, describe, expect, it } from 'vitest';
import { addConnection } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';
import {
  encode,
  type Fields,
  type OauthReply,
  PATHS,
  REDIRECT_URI,
  returned,
  type TestApp,
  VERIFIER,
  worldOfFile,
} from './oauth-fixture.ts';

const world = worldOfFile();
let app: TestApp;
let narrow: TestApp;
let disabled: TestApp;
let other: TestApp;
/** Of the other app. */
let tokens: Awaited<ReturnType<typeof world.obtainTokens>>;
const SECOND_URI = 'https://crm.example/second';
const refreshing = (refresh_token: string) => ({ grant_type: 'refresh_token', refresh_token });
const ASSERTION = {
  client_secret: undefined,
  client_assertion: 'a.b.c',
  client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
};

beforeAll(async () => {
  app = await world.register({ redirectUris: [REDIRECT_URI, SECOND_URI] });
  other = await world.register({ name: 'Another' });
  tokens = await world.obtainTokens(other);
  narrow = await world.register({ scopes: ['messaging.read'] });
  disabled = await world.register();
  await world.service.platform.oauth.apps.setEnabled(disabled.clientId, false);
});

/** What an authorize request differs in from one that is right, and its error. */
const RETURNED: readonly (readonly [what: string, fields: Fields, error: string])[] = [
  ['no response type', { response_type: undefined }, 'invalid_request'],
  ['an empty response type', { response_type: '' }, 'invalid_request'],
  ['the implicit flow', { response_type: 'token' }, 'unsupported_response_type'],
  ['a hybrid flow', { response_type: 'code token' }, 'unsupported_response_type'],
  ['an answer in the fragment', { response_mode: 'fragment' }, 'invalid_request'],
  ['no challenge', { code_challenge: undefined }, 'invalid_request'],
  ['no challenge method, which means plain', { code_challenge_method: undefined }, 'invalid_request'],
  ['an empty challenge method', { code_challenge_method: '' }, 'invalid_request'],
  ['the method plain', { code_challenge_method: 'plain' }, 'invalid_request'],
  ['the method in small letters', { code_challenge_method: 's256' }, 'invalid_request'],
  ['a short challenge', { code_challenge: 'abc' }, 'invalid_request'],
  ['a challenge with padding', { code_challenge: `${'A'.repeat(42)}=` }, 'invalid_request'],
  ['two challenges', { code_challenge: ['A'.repeat(43), 'B'.repeat(43)] }, 'invalid_request'],
  ['two methods', { code_challenge_method: ['S256', 'plain'] }, 'invalid_request'],
  ['two scopes parameters', { scope: ['messaging.read', 'messaging.send'] }, 'invalid_request'],
  ['two states', { state: ['a', 'b'] }, 'invalid_request'],
  ['two response types', { response_type: ['code', 'code'] }, 'invalid_request'],
  ['an unknown scope', { scope: 'messaging.read openid' }, 'invalid_scope'],
  ['a scope in capitals', { scope: 'MESSAGING.READ' }, 'invalid_scope'],
  ['scopes joined by a comma', { scope: 'messaging.read,messaging.send' }, 'invalid_scope'],
  ['an unknown resource', { resource: 'https://elsewhere.example/api' }, 'invalid_target'],
  ['a resource that is no address', { resource: 'api' }, 'invalid_target'],
  ['an empty list of connections', { connection_ids: '' }, 'invalid_request'],
  ['a list of connections without ids', { connection_ids: '[]' }, 'invalid_request'],
  ['a list of blanks', { connection_ids: ' ' }, 'invalid_request'],
  ['a form that is posted', { response_mode: 'form_post' }, 'invalid_request'],
  ['a code with a blank', { response_type: ' code' }, 'unsupported_response_type'],
  ['a challenge with a line end', { code_challenge: `${'A'.repeat(43)}\n` }, 'invalid_request'],
  ['a challenge in base64', { code_challenge: `${'A'.repeat(42)}+` }, 'invalid_request'],
  ['scopes parted by two blanks', { scope: 'messaging.read  messaging.send' }, 'invalid_scope'],
  ['a name of every object', { scope: '__proto__ constructor' }, 'invalid_scope'],
  ['two resources', { resource: ['a', 'b'] }, 'invalid_target'],
  ['connections with NUL', { connection_ids: 'c1\u0000' }, 'invalid_request'],
];

/** What is answered by a page of ours: nobody is sent anywhere. */
const UNRETURNED: readonly (readonly [what: string, fields: Fields])[] = [
  ['no client', { client_id: undefined }],
  ['an unknown client', { client_id: 'cabcdefghijklmnopqrstuvwx' }],
  ['a client that cannot be one', { client_id: "' OR 1=1 --" }],
  ['two clients', { client_id: ['cabcdefghijklmnopqrstuvwx', 'cabcdefghijklmnopqrstuvwy'] }],
  ['no redirect address', { redirect_uri: undefined }],
  ['another host', { redirect_uri: 'https://evil.example/oauth/callback?tenant=7' }],
  ['another path', { redirect_uri: 'https://crm.example/oauth/callback/evil?tenant=7' }],
  ['a path that leads up', { redirect_uri: 'https://crm.example/oauth/../oauth/callback?tenant=7' }],
  ['one more parameter', { redirect_uri: `${REDIRECT_URI}&next=evil` }],
  ['no parameter', { redirect_uri: 'https://crm.example/oauth/callback' }],
  ['a fragment', { redirect_uri: `${REDIRECT_URI}#fragment` }],
  ['another case', { redirect_uri: 'https://CRM.example/oauth/callback?tenant=7' }],
  ['a default port', { redirect_uri: 'https://crm.example:443/oauth/callback?tenant=7' }],
  ['plain HTTP', { redirect_uri: 'http://crm.example/oauth/callback?tenant=7' }],
  [
    'credentials before the host',
    { redirect_uri: 'https://crm.example@evil.example/oauth/callback?tenant=7' },
  ],
  ['a suffix of the host', { redirect_uri: 'https://crm.example.evil.example/oauth/callback?tenant=7' }],
  ['an encoded slash', { redirect_uri: 'https://crm.example/oauth%2Fcallback?tenant=7' }],
  ['a slash at the end', { redirect_uri: 'https://crm.example/oauth/callback/?tenant=7' }],
  ['another alphabet', { redirect_uri: 'https://ｃrm.example/oauth/callback?tenant=7' }],
  ['a backslash', { redirect_uri: 'https://crm.example\\@evil.example/oauth/callback?tenant=7' }],
  ['a line end', { redirect_uri: `${REDIRECT_URI}\r\nLocation: https://evil.example` }],
  ['a trailing dot', { redirect_uri: 'https://crm.example./oauth/callback?tenant=7' }],
  ['a script', { redirect_uri: 'javascript:alert(1)' }],
  ['two redirect addresses', { redirect_uri: [REDIRECT_URI, 'https://evil.example/'] }],
];

describe('an authorize request', () => {
  it('is refused by a redirect with error, state and issuer, and without a code', async () => {
    proves('oauth.grant.existing', 'auth.oauth.needs-connection');
    for (const [what, fields, error] of RETURNED) {
      const reply = await world.authorize(app, fields);
      const query = returned(reply);
      expect([what, reply.status, query.get('error'), query.get('code')]).toEqual([what, 303, error, null]);
      expect([what, query.get('iss')]).toEqual([what, world.service.origin]);
      expect([what, query.get('state')]).toEqual([what, what === 'two states' ? null : 'xyz']);
      expect(reply.headers.get('location')?.startsWith(`${REDIRECT_URI}&error=`), what).toBe(true);
    }
  });

  it('with an unregistered client or address returns a page, and no redirect', async () => {
    for (const [what, fields] of UNRETURNED) {
      const reply = await world.authorize(app, fields);
      expect([what, reply.status, reply.headers.get('location')]).toEqual([what, 400, null]);
      expect(reply.text).not.toContain('evil.example');
      expect(reply.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(reply.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    }
    expect((await world.authorize(disabled)).status).toBe(400);
    const slash = { resource: `${world.service.origin}/api/v1/` };
    expect(returned(await world.authorize(app, slash)).get('error')).toBe('invalid_target');
  });

  it('may have no state, and parameters without a value, which count as omitted', async () => {
    const empty = { resource: '', scope: '', state: '' };
    for (const fields of [empty, { state: undefined, nobody_knows: 'this' }]) {
      const reply = await world.authorize(app, fields);
      expect([...returned(reply).keys()].toSorted()).toEqual(['code', 'iss', 'tenant']);
    }
    const { body } = await world.redeem(app, await world.obtainCode(app, empty), { resource: '' });
    const token = String(body['refresh_token']);
    const next = await world.refresh(app, token, { scope: '', resource: '' });
    const all = 'messaging.read messaging.send messaging.events messaging.manage';
    expect([body['scope'], next.body['scope']]).toEqual([all, all]);
    const key = String(next.body['access_token']);
    expect((await world.service.call('GET', '/connections', { key })).status).toBe(200);
  });

  it('grants only what the app is allowed, and no connection of another workspace', async () => {
    expect(returned(await world.authorize(narrow, { scope: 'messaging.send' })).get('error')).toBe(
      'invalid_scope',
    );
    const abroad = await world.service.platform.workspaces.create({ kind: 'standalone' });
    const { id } = await addConnection(world.service, abroad.id, '4915187654321');
    const reply = await world.authorize(app, { connection_ids: id });
    expect(returned(reply).get('code')).toBeNull();
  });
});

/** What a token request differs in from one that redeems a good code, and its answer. */
const REDEEMED: readonly (readonly [what: string, fields: () => Fields, status: number, error: string])[] = [
  ['no client', () => ({ client_id: undefined, client_secret: undefined }), 401, 'invalid_client'],
  ['no secret', () => ({ client_secret: undefined }), 401, 'invalid_client'],
  ['an empty secret', () => ({ client_secret: '' }), 401, 'invalid_client'],
  ['a wrong secret', () => ({ client_secret: 'wrong' }), 401, 'invalid_client'],
  ['the secret of another client', () => ({ client_secret: other.clientSecret }), 401, 'invalid_client'],
  ['an unknown client', () => ({ client_id: 'cabcdefghijklmnopqrstuvwx' }), 401, 'invalid_client'],
  [
    'a client that is switched off',
    () => ({ client_id: disabled.clientId, client_secret: disabled.clientSecret }),
    401,
    'invalid_client',
  ],
  ['two secrets', () => ({ client_secret: [app.clientSecret, 'x'] }), 400, 'invalid_request'],
  ['two clients', () => ({ client_id: [app.clientId, other.clientId] }), 400, 'invalid_request'],
  ['no grant type', () => ({ grant_type: undefined }), 400, 'invalid_request'],
  ['the password flow', () => ({ grant_type: 'password' }), 400, 'unsupported_grant_type'],
  ['client credentials', () => ({ grant_type: 'client_credentials' }), 400, 'unsupported_grant_type'],
  [
    'two grant types',
    () => ({ grant_type: ['authorization_code', 'refresh_token'] }),
    400,
    'invalid_request',
  ],
  ['no code', () => ({ code: undefined }), 400, 'invalid_request'],
  ['an unknown code', () => ({ code: 'mca_unknown' }), 400, 'invalid_grant'],
  ['a code with NUL', () => ({ code: '\u0000' }), 400, 'invalid_grant'],
  [
    'the code of another client',
    () => ({ client_id: other.clientId, client_secret: other.clientSecret }),
    400,
    'invalid_grant',
  ],
  ['two codes', () => ({ code: ['a', 'b'] }), 400, 'invalid_request'],
  ['no redirect address', () => ({ redirect_uri: undefined }), 400, 'invalid_request'],
  ['another redirect address', () => ({ redirect_uri: 'https://crm.example/other' }), 400, 'invalid_grant'],
  ['the second address of the client', () => ({ redirect_uri: SECOND_URI }), 400, 'invalid_grant'],
  ['a refresh token as code', () => ({ code: tokens.refresh }), 400, 'invalid_grant'],
  ['an access token as code', () => ({ code: tokens.access }), 400, 'invalid_grant'],
  ['an access token to refresh', () => refreshing(tokens.access), 400, 'invalid_grant'],
  ['a refresh token of another', () => refreshing(tokens.refresh), 400, 'invalid_grant'],
  [
    'an assertion',
    () => ({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer' }),
    400,
    'unsupported_grant_type',
  ],
  ['a key in place of the secret', () => ASSERTION, 401, 'invalid_client'],
  ['no verifier', () => ({ code_verifier: undefined }), 400, 'invalid_request'],
  ['a wrong verifier', () => ({ code_verifier: VERIFIER }), 400, 'invalid_grant'],
  ['a verifier of 42 characters', () => ({ code_verifier: 'a'.repeat(42) }), 400, 'invalid_request'],
  ['a verifier of 129 characters', () => ({ code_verifier: 'a'.repeat(129) }), 400, 'invalid_request'],
  [
    'a verifier with other characters',
    () => ({ code_verifier: `${'a'.repeat(42)}/` }),
    400,
    'invalid_request',
  ],
  ['two verifiers', () => ({ code_verifier: [VERIFIER, VERIFIER] }), 400, 'invalid_request'],
  ['an unknown resource', () => ({ resource: 'https://elsewhere.example/' }), 400, 'invalid_target'],
  ['two resources', () => ({ resource: ['a', 'b'] }), 400, 'invalid_request'],
];

describe('a token request', () => {
  it('is refused for each error, and the code remains valid for its owner', async () => {
    const code = await world.obtainCode(app);
    const { verifier } = code;
    const more = [
      'the verifier with NUL',
      () => ({ code_verifier: `${verifier}\0` }),
      400,
      'invalid_request',
    ] as const;
    for (const [what, fields, status, error] of [...REDEEMED, more]) {
      const reply = await world.redeem(app, code, fields());
      expect([what, reply.status, reply.body['error']]).toEqual([what, status, error]);
      expect([what, reply.headers.get('cache-control')]).toEqual([what, 'no-store']);
    }
    expect((await world.redeem(app, code, { nobody_knows: 'this' })).status).toBe(200);
  });

  it('is accepted only as a form in the body, with one client authentication', async () => {
    const code = await world.obtainCode(app);
    const proof = { client_id: app.clientId, client_secret: app.clientSecret };
    const fields = { grant_type: 'authorization_code', code: code.code, code_verifier: code.verifier };
    const form = { ...fields, redirect_uri: REDIRECT_URI };
    const right = encode({ ...proof, ...form });
    const type = 'application/x-www-form-urlencoded';
    const send = (body: string, headers: object = {}, path: string = PATHS.token) =>
      world.send('POST', path, { body, headers: { 'content-type': type, ...headers } });
    const get = await world.send('GET', `${PATHS.token}?${right}`);
    expect([get.status, get.body['error']]).toEqual([405, 'invalid_request']);
    const basic = `Basic ${Buffer.from(`${app.clientId}:${app.clientSecret}`).toString('base64')}`;
    const malformed: readonly (readonly [what: string, reply: Promise<OauthReply>])[] = [
      ['a query', world.send('POST', `${PATHS.token}?${right}`, { headers: { 'content-type': type } })],
      ['a query beside the form', send(right, {}, `${PATHS.token}?x=1`)],
      ['JSON', send(JSON.stringify({ ...proof, ...form }), { 'content-type': 'application/json' })],
      ['plain text', send(right, { 'content-type': 'text/plain' })],
      ['parts', send(right, { 'content-type': 'multipart/form-data; boundary=x' })],
      ['UTF-16', send(right, { 'content-type': `${type}; charset=utf-16` })],
      ['two charsets', send(right, { 'content-type': `${type}; charset=utf-8; charset=utf-16` })],
      ['two types', send(right, { 'content-type': `${type}, application/json` })],
      ['a compressed body', send(right, { 'content-encoding': 'gzip' })],
      ['a long body', send(`${right}&x=${'x'.repeat(20_000)}`)],
      ['a name twice, once encoded', send(`${right}&c%6fde=x`)],
      ['Basic beside the form', send(right, { authorization: basic })],
    ];
    for (const [what, reply] of malformed) {
      const { status, body } = await reply;
      expect([what, status, body['error']]).toEqual([what, 400, 'invalid_request']);
    }
    const bare = encode({ ...form, client_id: app.clientId });
    for (const [what, reply, challenge] of [
      ['an empty body', send(''), null],
      ['Basic', send(encode(form), { authorization: basic }), 'Basic realm="oauth"'],
      ['Bearer', send(bare, { authorization: `Bearer ${app.clientSecret}` }), 'Bearer realm="oauth"'],
    ] as const) {
      const { status, body, headers } = await reply;
      expect([what, status, body['error']]).toEqual([what, 401, 'invalid_client']);
      expect(headers.get('www-authenticate')).toBe(challenge);
    }
    const utf8 = { 'content-type': `${type}; Charset="UTF-8"` };
    expect((await send(right, utf8)).status).toBe(200);
  });

  it('revokes what a code issued if the code is used again', async () => {
    const code = await world.obtainCode(app);
    const first = await world.redeem(app, code);
    const next = await world.refresh(app, String(first.body['refresh_token']));
    const keys = [first, next].map(({ body }) => String(body['access_token']));
    const statuses = () =>
      Promise.all(keys.map(async (key) => (await world.service.call('GET', '/connections', { key })).status));
    expect(await statuses()).toEqual([200, 200]);
    const stolen = await world.redeem(app, code, { code_verifier: VERIFIER });
    expect([stolen.status, stolen.body['error']]).toEqual([400, 'invalid_grant']);
    expect(await statuses()).toEqual([401, 401]);
    const refreshed = await world.refresh(app, String(next.body['refresh_token']));
    expect(refreshed.body['error']).toBe('invalid_grant');
  });
});

describe('a refresh', () => {
  const cases: readonly (readonly [what: string, fields: () => Fields, status: number, error: string])[] = [
    ['no token', () => ({ refresh_token: undefined }), 400, 'invalid_request'],
    ['an unknown token', () => ({ refresh_token: 'mcr_unknown' }), 400, 'invalid_grant'],
    ['two tokens', () => ({ refresh_token: ['a', 'b'] }), 400, 'invalid_request'],
    [
      'another client',
      () => ({ client_id: other.clientId, client_secret: other.clientSecret }),
      400,
      'invalid_grant',
    ],
    ['a wrong secret', () => ({ client_secret: 'wrong' }), 401, 'invalid_client'],
    ['more scopes', () => ({ scope: 'messaging.read messaging.manage' }), 400, 'invalid_scope'],
    ['an unknown scope', () => ({ scope: 'everything' }), 400, 'invalid_scope'],
    ['an unknown resource', () => ({ resource: 'https://elsewhere.example/' }), 400, 'invalid_target'],
  ];

  it('is refused for each error, and the token remains valid', async () => {
    const { refresh } = await world.obtainTokens(app, { scope: 'messaging.read messaging.send' });
    for (const [what, fields, status, error] of cases) {
      const reply = await world.refresh(app, refresh, fields());
      expect([what, reply.status, reply.body['error']]).toEqual([what, status, error]);
    }
    const less = await world.refresh(app, refresh, { scope: 'messaging.read' });
    expect([less.status, less.body['scope']]).toEqual([200, 'messaging.read']);
    const key = String(less.body['access_token']);
    const marking = { connectionId: world.connectionId, phone: '4915100000000' };
    const refused = await world.service.call('POST', '/messages/read', { key, body: marking });
    expect([refused.status, refused.body]).toEqual([403, { error: 'insufficient_scope' }]);
    const all = await world.refresh(app, String(less.body['refresh_token']));
    expect(all.body['scope']).toBe('messaging.read messaging.send');
  });

  it('with a used token ends the grant, including the newest tokens, and no other grant', async () => {
    proves('oauth.refresh.rotates');
    const tokensOf = ({ body }: OauthReply) => ({
      access: String(body['access_token']),
      refresh: String(body['refresh_token']),
    });
    const [first, kept] = [await world.obtainTokens(app), await world.obtainTokens(app)];
    const second = tokensOf(await world.refresh(app, first.refresh));
    expect(second.refresh).not.toBe(first.refresh);
    const third = tokensOf(await world.refresh(app, second.refresh));
    const statusOf = async (key: string) => (await world.service.call('GET', '/connections', { key })).status;
    expect(await statusOf(third.access)).toBe(200);
    for (const [token, fields] of [
      [first.refresh, { scope: 'everything' }],
      [third.refresh, {}],
    ] as const) {
      const { status, body } = await world.refresh(app, token, fields);
      expect([status, body['error']]).toEqual([400, 'invalid_grant']);
    }
    for (const { access } of [first, second, third]) expect(await statusOf(access)).toBe(401);
    expect(await statusOf(kept.access)).toBe(200);
    expect((await world.refresh(app, kept.refresh)).status).toBe(200);
  });
});

describe('a revocation', () => {
  it('accepts either token, ignores unknown ones, and refuses those of another client', async () => {
    const proof = { client_id: app.clientId, client_secret: app.clientSecret };
    const works = async (access: string): Promise<boolean> =>
      (await world.service.call('GET', '/connections', { key: access })).status === 200;

    const one = await world.obtainTokens(app);
    const foreign = await world.post(PATHS.revoke, {
      client_id: other.clientId,
      client_secret: other.clientSecret,
      token: one.access,
    });
    expect([foreign.status, foreign.body['error'], await works(one.access)]).toEqual([
      400,
      'invalid_grant',
      true,
    ]);
    expect((await world.post(PATHS.revoke, { ...proof, token: one.access })).status).toBe(200);
    expect(await works(one.access)).toBe(false);
    expect((await world.refresh(app, one.refresh)).body['error']).toBe('invalid_grant');

    const two = await world.obtainTokens(app);
    const hinted = { ...proof, token: two.refresh, token_type_hint: 'access_token' };
    expect((await world.post(PATHS.revoke, hinted)).status).toBe(200);
    expect(await works(two.access)).toBe(false);

    for (const token of ['unknown', 'a.b.c', two.refresh]) {
      expect((await world.post(PATHS.revoke, { ...proof, token })).status).toBe(200);
    }
    const refused = [
      await world.post(PATHS.revoke, proof),
      await world.post(PATHS.revoke, { ...proof, token: ['a', 'b'] }),
      await world.post(PATHS.revoke, { ...proof, client_secret: 'wrong', token: two.access }),
      await world.send('GET', `${PATHS.revoke}?token=x`),
    ];
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 401, 405]);
  });
});
