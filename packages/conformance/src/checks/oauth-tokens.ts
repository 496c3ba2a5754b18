import { Skip, Violation } from '../../../certify/src/runner/check.ts';
import type { Exchange } from '../../../certify/src/runner/exchange.ts';
import { readConnections } from '../fixtures/connections.ts';
import { readPage } from '../fixtures/messages.ts';
import {
  askAsApp,
  consent,
  expectChallenge,
  expectOauthError,
  grant,
  obtainCode,
  readClaims,
  readTokens,
  redeem,
  refresh,
  withToken,
} from '../fixtures/oauth.ts';
import type { ServiceContext } from '../service/context.ts';
import { secondWorkspace } from '../service/context.ts';
import {
  expectEqual,
  expectRefusal,
  expectRefused,
  expectStatus,
  fieldsOf,
  nameAnswer,
  nameValue,
} from '../service/judge.ts';
import { NO_PHONE, UNKNOWN_ID } from '../service/requests.ts';
import { inSection } from '../service/service-check.ts';

const SECTION = 'OAuth 2.0';
const OAUTH = ['oauth'] as const;
const GRANT = ['oauth', 'grant'] as const;
const CODE = ['oauth', 'full'] as const;
const ACCESS_SECONDS = 900;
const REFRESH_SECONDS = 2_592_000;
/** A lifetime may be counted from a moment before the response, and is then cut to whole seconds. */
const CUT_SECONDS = 5;
const UNKNOWN_TOKEN = 'conformance-nobody-was-given-this-token';

/** A second rotation of the grant that all checks share. */
function rotate(context: ServiceContext) {
  return context.once('a refreshed OAuth grant', async () => {
    const { refresh: token } = await consentOrGrant(context);
    return { old: token, ...readTokens(await refresh(context, token)) };
  });
}

function expectLifetime(what: string, seconds: number, found: unknown, exchange: Exchange): void {
  const isAbout = typeof found === 'number' && Math.abs(found - seconds) <= CUT_SECONDS;
  if (!isAbout) throw new Violation(`${what}: ${seconds}`, `${what}: ${nameValue(found)}`, exchange);
}

/** A grant that may end: a new one if the service issues one, otherwise the given one. */
function consentOrGrant(context: ServiceContext) {
  return context.inputs.oauthRefreshToken === undefined ? consent(context) : grant(context);
}

/** Tokens, scopes and connections of a grant. Implements `OAuth 2.0`. */
export const tokenChecks = inSection({ section: SECTION, needs: GRANT }, [
  {
    id: 'oauth.client.secret',
    rule: 'A wrong client secret is refused with invalid_client.',
    needs: OAUTH,
    async run(context) {
      expectOauthError(
        await refresh(context, UNKNOWN_TOKEN, { client_secret: UNKNOWN_TOKEN }),
        'invalid_client',
      );
    },
  },
  {
    id: 'oauth.client.header',
    rule: 'Client credentials in the Authorization header are refused: the method is client_secret_post.',
    level: 'reading',
    needs: OAUTH,
    async run(context) {
      const { clientId = '', clientSecret = '' } = context.inputs.oauthApp ?? {};
      const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
      context.secrets.add(basic, 'client credentials');
      const parameters = { grant_type: 'refresh_token', refresh_token: UNKNOWN_TOKEN };
      const form = { ...parameters, client_id: undefined, client_secret: undefined };
      const headers = { authorization: `Basic ${basic}` };
      const exchange = await askAsApp(context, 'token_endpoint', form, headers);
      expectOauthError(exchange, 'invalid_client');
    },
  },
  {
    id: 'oauth.refresh.unknown',
    rule: 'An unknown refresh token is refused with invalid_grant.',
    needs: OAUTH,
    async run(context) {
      expectOauthError(await refresh(context, UNKNOWN_TOKEN), 'invalid_grant');
    },
  },
  {
    id: 'oauth.token.invalid',
    section: 'API keys',
    rule: 'An invalid access token gets 401 with WWW-Authenticate: Bearer and an error.',
    needs: OAUTH,
    async run(context) {
      const [header, claims] = [{ alg: 'none' }, { sub: 'nobody' }].map((part) =>
        Buffer.from(JSON.stringify(part)).toString('base64url'),
      );
      const exchange = await withToken(context, `${header}.${claims}.c2lnbmF0dXJl`).request(
        'GET',
        '/connections',
      );
      expectStatus(exchange, 401);
      expectChallenge(exchange, /error=/);
    },
  },
  {
    id: 'oauth.code.verifier',
    rule: 'A code with a wrong verifier is refused with invalid_grant.',
    needs: CODE,
    async run(context) {
      const code = await obtainCode(context);
      expectOauthError(await redeem(context, { ...code, verifier: 'v'.repeat(43) }), 'invalid_grant');
    },
  },
  {
    id: 'oauth.code.secret',
    rule: 'A code with a wrong client secret is refused with invalid_client.',
    needs: CODE,
    async run(context) {
      const code = await obtainCode(context);
      expectOauthError(await redeem(context, code, { client_secret: UNKNOWN_TOKEN }), 'invalid_client');
    },
  },
  {
    id: 'oauth.token.type',
    rule: 'The token endpoint returns a Bearer token and a refresh token.',
    async run(context) {
      const { exchange } = await grant(context);
      const type = fieldsOf(exchange)['token_type'];
      if (!/^bearer$/i.test(String(type)))
        throw new Violation('token_type: "Bearer"', nameValue(type), exchange);
    },
  },
  {
    id: 'oauth.token.jwt',
    section: 'Authentication',
    rule: 'The access token is a JWT that is valid for 15 minutes.',
    async run(context) {
      const { access, exchange } = await grant(context);
      const claims = readClaims(access);
      if (claims === undefined) throw new Violation('a JWT', 'a token that is not a JWT', exchange);
      const expiresIn = fieldsOf(exchange)['expires_in'];
      if (expiresIn !== undefined) expectLifetime('expires_in', ACCESS_SECONDS, expiresIn, exchange);
      const { iat, exp } = claims;
      if (typeof iat === 'number' && typeof exp === 'number')
        expectLifetime('exp − iat', ACCESS_SECONDS, exp - iat, exchange);
    },
  },
  {
    id: 'oauth.refresh.life',
    section: 'Authentication',
    rule: 'If the token endpoint returns the lifetime of the refresh token, it is 30 days.',
    async run(context) {
      const { exchange } = await grant(context);
      const json = fieldsOf(exchange);
      const expiresIn = json['refresh_token_expires_in'] ?? json['refresh_expires_in'];
      if (expiresIn === undefined) throw new Skip('the lifetime of the refresh token is not returned');
      expectLifetime('the lifetime', REFRESH_SECONDS, expiresIn, exchange);
    },
  },
  {
    id: 'oauth.token.cache',
    rule: 'A response with tokens must not be cached (RFC 6749, 5.1).',
    level: 'should',
    async run(context) {
      const { exchange } = await grant(context);
      const cacheControl = exchange.headers.get('cache-control') ?? 'no such header';
      if (!/\bno-store\b/i.test(cacheControl))
        throw new Violation('Cache-Control: no-store', cacheControl, exchange);
    },
  },
  {
    id: 'oauth.grant.list',
    rule: 'A grant lists at least one connection: it exists only over connections that exist.',
    async run(context) {
      const { access } = await grant(context);
      const exchange = await withToken(context, access).request('GET', '/connections');
      expectStatus(exchange, 200);
      if (readConnections(exchange).length === 0) throw new Violation('a connection', 'none', exchange);
    },
  },
  {
    id: 'oauth.grant.isolation',
    rule: 'A grant sees only its connections: neither lists, details nor messages of another workspace.',
    needs: ['oauth', 'grant', 'second-key'],
    async run(context) {
      const [foreign] = readConnections(await secondWorkspace(context).request('GET', '/connections'));
      if (foreign === undefined) throw new Skip('the other workspace lists no connection');
      const client = withToken(context, (await grant(context)).access);
      const list = await client.request('GET', '/connections');
      expectStatus(list, 200);
      if (readConnections(list).some(({ id }) => id === foreign.id))
        throw new Violation('no connection of another workspace', foreign.id, list);
      const detail = await client.request('GET', `/connections/${foreign.id}`);
      expectRefused(detail, 'a connection of another workspace');
      const page = await client.request('GET', `/messages?limit=1&connectionId=${foreign.id}`);
      expectStatus(page, 200);
      if (readPage(page).messages.length > 0) throw new Violation('an empty page', nameAnswer(page), page);
    },
  },
  {
    id: 'oauth.scope.needed',
    section: 'Scopes',
    rule: 'A grant of messaging.read gets 403 insufficient_scope, with a challenge, for a send.',
    needs: CODE,
    async run(context) {
      const client = withToken(context, (await readingGrant(context)).access);
      const body = { connectionId: UNKNOWN_ID, to: NO_PHONE, text: 'Conformance check' };
      const exchange = await client.request('POST', '/messages', { body });
      expectRefusal(exchange, { status: 403, code: 'insufficient_scope' });
      expectChallenge(exchange, /error="?insufficient_scope/);
    },
  },
  {
    id: 'oauth.scope.granted',
    section: 'Scopes',
    rule: 'A grant of messaging.read may read, and has no other scope.',
    needs: CODE,
    async run(context) {
      const { access, exchange } = await readingGrant(context);
      const scope = fieldsOf(exchange)['scope'];
      if (scope !== undefined) expectEqual('scope', 'messaging.read', scope, exchange);
      expectStatus(await withToken(context, access).request('GET', '/account'), 200);
    },
  },
  {
    id: 'oauth.refresh.rotates',
    rule: 'A refresh returns a new refresh token and an access token that works.',
    async run(context) {
      const { old, refresh: next, access, exchange } = await rotate(context);
      if (old === next) throw new Violation('a new refresh token', 'the same one', exchange);
      expectStatus(await withToken(context, access).request('GET', '/connections'), 200);
    },
  },
]);

/** A consent to `messaging.read`. */
export function readingGrant(context: ServiceContext) {
  return context.once('a grant of messaging.read', () => consent(context, { scope: 'messaging.read' }));
}

/** Second uses of codes and refresh tokens. They may end grants, so they run after all others. */
export const tokenReuseChecks = inSection({ section: SECTION }, [
  {
    id: 'oauth.refresh.old',
    rule: 'After a refresh, the old refresh token is invalid.',
    needs: GRANT,
    async run(context) {
      const { old } = await rotate(context);
      expectOauthError(await refresh(context, old), 'invalid_grant');
    },
  },
  {
    id: 'oauth.refresh.reuse',
    rule: 'The second use of a refresh token ends its grant (RFC 9700, 4.14.2).',
    level: 'should',
    needs: GRANT,
    async run(context) {
      const { old, refresh: next } = await rotate(context);
      await refresh(context, old);
      expectOauthError(await refresh(context, next), 'invalid_grant');
    },
  },
  {
    id: 'oauth.code.reuse',
    rule: 'A code that was redeemed is refused with invalid_grant.',
    needs: CODE,
    async run(context) {
      expectOauthError((await reuse(context)).second, 'invalid_grant');
    },
  },
  {
    id: 'oauth.code.revokes',
    rule: 'The second use of a code ends the tokens of its first use (RFC 6749, 4.1.2).',
    level: 'should',
    needs: CODE,
    async run(context) {
      const { access } = (await reuse(context)).first;
      expectStatus(await withToken(context, access).request('GET', '/connections'), 401);
    },
  },
]);

/** A code that is redeemed twice. */
function reuse(context: ServiceContext) {
  return context.once('a code that is redeemed twice', async () => {
    const code = await obtainCode(context);
    const first = readTokens(await redeem(context, code));
    return { first, second: await redeem(context, code) };
  });
}
