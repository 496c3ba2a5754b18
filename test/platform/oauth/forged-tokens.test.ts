import { type CryptoKey, decodeJwt, generateKeyPair, importJWK, SignJWT } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { proves } from '../../support/proves.ts';
import { post, request } from '../mcp/tool-fixture.ts';
import { type OauthReply, PATHS, type TestApp, worldOfFile } from './oauth-fixture.ts';

const world = worldOfFile();
let app: TestApp;
let other: TestApp;
beforeAll(async () => {
  app = await world.register();
  other = await world.register({ name: 'Another' });
});

const works = async (access: string): Promise<boolean> =>
  (await world.service.call('GET', '/connections', { key: access })).status === 200;

describe('an access token', () => {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  /** Any header and claims under a signature: what a library would not sign. */
  const sign = async (header: object, claims: unknown, key: CryptoKey): Promise<string> => {
    const content = `${part(header)}.${part(claims)}`;
    const algorithm = { name: 'ECDSA', hash: 'SHA-256' };
    const made = await crypto.subtle.sign(algorithm, key, Buffer.from(content));
    return `${content}.${Buffer.from(made).toString('base64url')}`;
  };

  it('is refused with any other header, claims and signature', async () => {
    proves('choice.oauth.token', 'auth.challenge');
    const { origin } = world.service;
    const { access } = await world.obtainTokens(app);
    const [head = '', middle = '', signature = ''] = access.split('.');
    const header = JSON.parse(Buffer.from(head, 'base64url').toString());
    const claims = JSON.parse(Buffer.from(middle, 'base64url').toString());
    const strange = await generateKeyPair('ES256', { extractable: true });
    const jwk = await crypto.subtle.exportKey('jwk', strange.publicKey);
    const [stored] = await world.service.database.query(
      'SELECT private_jwk FROM platform.oauth_signing_keys',
    );
    const real = await importJWK(JSON.parse(String(stored?.['private_jwk'])), 'ES256');
    if (real instanceof Uint8Array) throw new Error('no key pair');
    const forged = (more: object) => sign({ ...header, ...more }, claims, strange.privateKey);
    const signed = (more: object) => sign(header, { ...claims, ...more }, real);
    const rsa = await generateKeyPair('RS256');
    const jwks = (await world.send('GET', PATHS.jwks)).text;
    const library = (alg: string, key: CryptoKey | Uint8Array) =>
      new SignJWT(claims).setProtectedHeader({ ...header, alg }).sign(key);
    const order = 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551';
    const bytes = (hex: string): string => Buffer.from(hex, 'hex').toString('base64url');
    const made = Buffer.from(signature, 'base64url');
    const tokens: readonly (readonly [what: string, token: string])[] = [
      ['no signature', `${head}.${middle}.`],
      ['alg none with the signature', `${part({ ...header, alg: 'none' })}.${middle}.${signature}`],
      ['an unknown kid', await sign({ ...header, kid: 'other' }, claims, real)],
      ['a kid that leads to a file', await forged({ kid: '../../etc/passwd' })],
      ['RS256', await library('RS256', rsa.privateKey)],
      ['HS256 with the public key', await library('HS256', Buffer.from(jwks))],
      ['another type in the header', `${part({ ...header, typ: 'JWT' })}.${middle}.${signature}`],
      ['other claims', `${head}.${part({ ...claims, scope: 'messaging.manage' })}.${signature}`],
      ['a later end', `${head}.${part({ ...claims, exp: claims.exp + 9_999 })}.${signature}`],
      ['no JSON', `${head}.e30x.${signature}`],
      ['three words', 'one.two.three'],
      // Signed by the key of the server, and yet no token of this API.
      ['the issuer with a slash', await signed({ iss: `${origin}/` })],
      ['another issuer', await signed({ iss: 'https://elsewhere.example' })],
      ['another audience', await signed({ aud: `${origin}/api/v2` })],
      ['no audience', await signed({ aud: undefined })],
      ['no end', await signed({ exp: undefined })],
      ['an end in the past', await signed({ exp: claims.iat })],
      ['no beginning', await signed({ iat: undefined })],
      ['a beginning to come', await signed({ nbf: claims.exp })],
      ['no id', await signed({ jti: undefined })],
      ['no grant', await signed({ grant_id: undefined })],
      ['an unknown grant', await signed({ grant_id: 'cabcdefghijklmnopqrstuvwx' })],
      ['a grant that is not a string', await signed({ grant_id: 7 })],
      ['the client of another grant', await signed({ client_id: other.clientId })],
      ['no scope', await signed({ scope: undefined })],
      ['scopes as a list', await signed({ scope: ['messaging.read'] })],
      ['an end that is a text', await signed({ exp: String(claims.exp) })],
      ['an audience within a list', await signed({ aud: [[origin]] })],
      ['the type of an ID token', await sign({ ...header, typ: 'JWT' }, claims, real)],
      ['no type', await sign({ ...header, typ: undefined }, claims, real)],
      ['an extension that must be understood', await sign({ ...header, crit: ['x'], x: 1 }, claims, real)],
      ['a key in the header', await forged({ jwk })],
      ['a key in the header, and no id', await forged({ jwk, kid: undefined })],
      ['an address of keys', await forged({ jku: 'https://evil.example/jwks' })],
      ['an address of certificates', await forged({ x5u: 'https://evil.example/x5u' })],
      ['certificates', await forged({ x5c: ['AAAA'], x5t: 'AAAA' })],
      ['an id as SQL', await forged({ kid: "' UNION SELECT 'x" })],
      ['an id that is a list', await forged({ kid: [header.kid] })],
      ['an id that is a number', await forged({ kid: 0 })],
      ['an id of every object', await forged({ kid: '__proto__' })],
      ['an id of a device', await forged({ kid: '/dev/null' })],
      ['a known id, and a strange key', await forged({})],
      ...['none', 'None', 'nOnE', 'NONE', '', 'none '].map(
        (alg) => [`alg ${alg}`, `${part({ ...header, alg })}.${middle}.`] as const,
      ),
      ['alg none as a list', `${part({ ...header, alg: ['none'] })}.${middle}.`],
      ['ES384', `${part({ ...header, alg: 'ES384' })}.${middle}.${signature}`],
      ['a signature of zeros', `${head}.${middle}.${bytes('00'.repeat(64))}`],
      ['r and s of the order', `${head}.${middle}.${bytes(order + order)}`],
      ['r of zero', `${head}.${middle}.${bytes('00'.repeat(32) + made.toString('hex', 32))}`],
      ['a signature cut short', `${head}.${middle}.${made.subarray(0, 63).toString('base64url')}`],
      ['a signature with more', `${head}.${middle}.${bytes(`${made.toString('hex')}00`)}`],
      [
        'a signature in DER',
        `${head}.${middle}.${bytes(`30440220${made.toString('hex', 0, 32)}0220${made.toString('hex', 32)}`)}`,
      ],
      [
        'the signature of another',
        `${head}.${middle}.${(await world.obtainTokens(other)).access.split('.')[2]}`,
      ],
      ['an unencoded payload', await sign({ ...header, b64: false, crit: ['b64'] }, claims, real)],
      ['a token in a token', await sign({ ...header, cty: 'JWT' }, access, real)],
      ['a list as claims', await sign(header, [claims], real)],
      ['null as claims', await sign(header, null, real)],
    ];
    for (const [what, key] of tokens) {
      const { status, body, headers } = await world.service.call('GET', '/connections', { key });
      expect([what, status, body]).toEqual([what, 401, { error: 'invalid_token' }]);
      expect(headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
    }
    for (const key of [`${head}.${middle}${'A'.repeat(4_096)}.${signature}`, `${access}.a.b`])
      expect(await works(key)).toBe(false);
    for (const key of [access, await signed({})]) expect(await works(key)).toBe(true);
    // More scopes than the grant has, under a signature that is right, are no more scopes.
    const narrow = await world.obtainTokens(app, { scope: 'messaging.read' });
    const own = JSON.parse(Buffer.from(narrow.access.split('.')[1] ?? '', 'base64url').toString());
    const wide = await sign(header, { ...own, scope: 'messaging.read messaging.manage' }, real);
    const called = await world.service.call('POST', '/connections', { key: wide, body: {} });
    expect([called.status, called.body]).toEqual([403, { error: 'insufficient_scope' }]);
  });

  it('for one resource is refused at the other, and so is what is refreshed from it', async () => {
    const { origin } = world.service;
    const [api, tools] = [`${origin}/api/v1`, `${origin}/api/mcp`];
    const statuses = async (key: string) => [
      (await world.service.call('GET', '/connections', { key })).status,
      (await post(origin, key, request('tools/list').body)).status,
    ];
    const accessIn = ({ body }: OauthReply): string => String(body['access_token']);
    const forApi = await world.obtainTokens(app, { resource: api });
    const forTools = await world.obtainTokens(app, { resource: tools });
    const audiences = [forApi, forTools].map(({ access }) => [decodeJwt(access).aud].flat());
    expect(audiences).toEqual([[api], [tools]]);
    expect(await statuses(forApi.access)).toEqual([200, 401]);
    expect(await statuses(forTools.access)).toEqual([401, 200]);
    const anywhere = await world.obtainTokens(app);
    expect(await statuses(anywhere.access)).toEqual([200, 200]);
    const narrowed = await world.refresh(app, anywhere.refresh, { resource: tools });
    expect(await statuses(accessIn(narrowed))).toEqual([401, 200]);
    const next = await world.refresh(app, forTools.refresh);
    expect(await statuses(accessIn(next))).toEqual([401, 200]);
    const widened = await world.refresh(app, String(next.body['refresh_token']), { resource: api });
    expect(widened.body['error']).toBe('invalid_target');
  });

  it('cannot be a refresh token or a code', async () => {
    const { refresh } = await world.obtainTokens(app);
    const { code } = await world.obtainCode(app);
    for (const key of [refresh, code, app.clientSecret]) {
      expect((await world.service.call('GET', '/connections', { key })).status).toBe(401);
    }
  });

  it('is ignored where no token is read', async () => {
    const { access } = await world.obtainTokens(app);
    const at = `${world.service.origin}/api/v1/connections`;
    const statuses = await Promise.all([
      fetch(`${at}?access_token=${access}`),
      fetch(at, { headers: { cookie: `access_token=${access}` } }),
      fetch(at, { headers: { authorization: `DPoP ${access}` } }),
      fetch(at, { headers: { authorization: `Bearer ${access}, Bearer ${access}` } }),
      fetch(at, { headers: { authorization: access } }),
      fetch(at, { headers: { 'x-authorization': `Bearer ${access}` } }),
    ]);
    expect(statuses.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401, 401]);
  });
});
