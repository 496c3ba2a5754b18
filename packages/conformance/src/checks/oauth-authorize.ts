import { Skip, Violation } from '../../../certify/src/runner/check.ts';
import type { Exchange } from '../../../certify/src/runner/exchange.ts';
import {
  authorize,
  discover,
  endpoint,
  FOREIGN_REDIRECT,
  type Form,
  leadsToApp,
  oauthError,
  redirectOf,
  STATE,
} from '../fixtures/oauth.ts';
import type { ServiceContext } from '../service/context.ts';
import { expectStatus, fieldsOf, nameAnswer, nameValue } from '../service/judge.ts';
import { inSection, type ServiceCheck } from '../service/service-check.ts';

const SECTION = 'OAuth 2.0';
const AUTH = ['auth'] as const;
const OAUTH = ['oauth'] as const;

/** Requires a list of the discovery document to contain a value, and nothing from `never`. */
function offers(
  id: string,
  rule: string,
  name: string,
  value: string,
  never: readonly string[] = [],
): ServiceCheck {
  return {
    id,
    section: SECTION,
    rule,
    level: 'must',
    needs: AUTH,
    async run(context) {
      const exchange = await discover(context);
      const list = fieldsOf(exchange)[name];
      const right = Array.isArray(list) && list.includes(value) && !never.some((one) => list.includes(one));
      if (right) return;
      const shown = Array.isArray(list) ? list.map(nameValue).join(', ') : nameValue(list);
      const without = never.length === 0 ? '' : ` and not ${never.join(', ')}`;
      throw new Violation(`${name} contains ${value}${without}`, shown, exchange);
    },
  };
}

function nameRedirect(exchange: Exchange): string {
  const target = redirectOf(exchange);
  if (target === undefined) return nameAnswer(exchange);
  return `a redirect with ${[...target.searchParams.keys()].join(', ') || 'no parameters'}`;
}

/** @throws Violation if the response contains a code, or asks for the consent to the request */
function expectNoConsent(context: ServiceContext, exchange: Exchange): void {
  const { status } = exchange;
  const target = redirectOf(exchange);
  const isRefused = oauthError(exchange) !== undefined || (status >= 400 && status <= 499);
  if (isRefused && target?.searchParams.has('code') !== true) return;
  if (target !== undefined && !leadsToApp(context, exchange))
    throw new Skip(
      'the service redirects to a page of its own, perhaps to log in, before it refuses a request',
    );
  throw new Violation('an error', nameRedirect(exchange), exchange);
}

/** A request that must be refused, to the app or on a page. */
function refused(
  id: string,
  rule: string,
  level: 'must' | 'should',
  changes: Form,
  further: (context: ServiceContext, exchange: Exchange) => void = () => undefined,
): ServiceCheck {
  return {
    id,
    section: SECTION,
    rule,
    level,
    needs: OAUTH,
    async run(context) {
      const exchange = await authorize(context, changes);
      expectNoConsent(context, exchange);
      further(context, exchange);
    },
  };
}

function expectNoRedirect(context: ServiceContext, exchange: Exchange): void {
  if (!leadsToApp(context, exchange)) return;
  throw new Violation('an answer to the user, without a redirect', nameRedirect(exchange), exchange);
}

/** The discovery document, and what can be seen of a consent without giving one. Implements `OAuth 2.0`. */
export const authorizeChecks = inSection({ section: SECTION }, [
  {
    id: 'oauth.discovery',
    rule: 'The discovery document names the authorization endpoint and the token endpoint.',
    needs: AUTH,
    async run(context) {
      expectStatus(await discover(context), 200);
      await endpoint(context, 'authorization_endpoint');
      await endpoint(context, 'token_endpoint');
    },
  },
  {
    id: 'oauth.discovery.issuer',
    rule: 'The issuer of the discovery document is the address that it was read from (RFC 8414, 3.3).',
    level: 'should',
    needs: AUTH,
    async run(context) {
      const exchange = await discover(context);
      const issuer = fieldsOf(exchange)['issuer'];
      if (issuer !== context.inputs.authUrl) {
        throw new Violation(`issuer: ${nameValue(context.inputs.authUrl)}`, nameValue(issuer), exchange);
      }
    },
  },
  {
    id: 'oauth.discovery.hosts',
    section: 'Versioning',
    rule: 'The endpoints are on the host of the discovery document.',
    needs: AUTH,
    async run(context) {
      const { host } = new URL(context.inputs.authUrl ?? '');
      for (const name of ['authorization_endpoint', 'token_endpoint']) {
        const found = (await endpoint(context, name)).host;
        if (found !== host) throw new Violation(`${name} on ${host}`, found, await discover(context));
      }
    },
  },
  offers(
    'oauth.discovery.pkce',
    'The discovery document offers the challenge method S256, and no weaker one.',
    'code_challenge_methods_supported',
    'S256',
    ['plain'],
  ),
  offers(
    'oauth.discovery.client',
    'The discovery document offers client_secret_post.',
    'token_endpoint_auth_methods_supported',
    'client_secret_post',
  ),
  refused('oauth.authorize.pkce', 'A request without a code challenge is refused.', 'must', {
    code_challenge: undefined,
    code_challenge_method: undefined,
  }),
  refused('oauth.authorize.plain', 'A request with the challenge method plain is refused.', 'must', {
    code_challenge_method: 'plain',
  }),
  refused(
    'oauth.authorize.type',
    'A request for anything but a code is refused.',
    'must',
    { response_type: 'token' },
    (_, exchange) => {
      if (/access_token/.test(exchange.headers.get('location') ?? '')) {
        throw new Violation('no token', nameRedirect(exchange), exchange);
      }
    },
  ),
  refused(
    'oauth.authorize.redirect',
    'A request with another redirect URI is refused without a redirect (RFC 6749, 3.1.2.4).',
    'should',
    { redirect_uri: FOREIGN_REDIRECT },
    expectNoRedirect,
  ),
  refused(
    'oauth.authorize.client',
    'A request of an unknown app is refused without a redirect (RFC 6749, 3.1.2.4).',
    'should',
    { client_id: 'conformance-unknown-client' },
    expectNoRedirect,
  ),
  {
    id: 'oauth.authorize.state',
    rule: 'A refusal that is redirected returns the state of the request (RFC 6749, 4.1.2.1).',
    level: 'should',
    needs: OAUTH,
    async run(context) {
      const exchange = await authorize(context, { code_challenge_method: 'plain' });
      const target = redirectOf(exchange);
      if (target === undefined || !leadsToApp(context, exchange))
        throw new Skip('the refusal is not redirected to the app');
      const state = target.searchParams.get('state');
      if (state !== STATE) throw new Violation(`state: ${nameValue(STATE)}`, nameValue(state), exchange);
    },
  },
]);
