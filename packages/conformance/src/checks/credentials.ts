import { Violation } from '../../../certify/src/runner/check.ts';
import type { Exchange } from '../../../certify/src/runner/exchange.ts';
import type { ServiceContext } from '../service/context.ts';
import { codeOf, expectStatus, nameAnswer } from '../service/judge.ts';
import { HARMLESS } from '../service/requests.ts';
import { inSection } from '../service/service-check.ts';

const UNKNOWN_KEY = 'no-service-ever-gave-out-this-key';
const SECTION = 'Authentication';

/** Calls every endpoint with one credential. */
async function askAll(context: ServiceContext, authorization?: string): Promise<readonly Exchange[]> {
  const as = authorization === undefined ? 'no credential' : 'unknown key';
  const client = context.clientFor(authorization === undefined ? { as } : { as, authorization });
  const exchanges: Exchange[] = [];
  for (const request of HARMLESS) exchanges.push(await client.request(request.method, request.path, request));
  return exchanges;
}

const withoutCredential = (context: ServiceContext): Promise<readonly Exchange[]> =>
  context.once('the responses without a credential', () => askAll(context));
const withUnknownKey = (context: ServiceContext): Promise<readonly Exchange[]> =>
  context.once('the responses to an unknown key', () => askAll(context, `Bearer ${UNKNOWN_KEY}`));

/** A `Bearer` challenge with an `error` parameter. */
const CHALLENGE = /^Bearer\b.*\berror="?[\w-]+"?/i;

/** The first exchange that violates the rule determines the result. */
function demandEach(
  exchanges: readonly Exchange[],
  expected: string,
  holds: (e: Exchange) => boolean,
  name = nameAnswer,
): void {
  for (const exchange of exchanges) {
    if (!holds(exchange)) {
      throw new Violation(expected, `${exchange.method} ${exchange.path}: ${name(exchange)}`, exchange);
    }
  }
}

const challengeOf = ({ headers }: Exchange): string => headers.get('www-authenticate') ?? 'no such header';

/** Who may call the API. Implements `Authentication`, `API keys`. */
export const credentialChecks = inSection({ section: SECTION }, [
  {
    id: 'auth.none.refused',
    rule: 'Without a credential all 14 endpoints return 401.',
    async run(context) {
      demandEach(await withoutCredential(context), 'status 401', ({ status }) => status === 401);
    },
  },
  {
    id: 'auth.none.code',
    rule: 'Without a credential the code is invalid_key, and the challenge contains invalid_token.',
    level: 'reading',
    async run(context) {
      const exchanges = await withoutCredential(context);
      demandEach(exchanges, 'code invalid_key', (exchange) => codeOf(exchange) === 'invalid_key');
      const wanted = 'WWW-Authenticate: Bearer error="invalid_token"';
      const holds = (exchange: Exchange): boolean => /error="?invalid_token\b/.test(challengeOf(exchange));
      demandEach(exchanges, wanted, holds, challengeOf);
    },
  },
  {
    id: 'auth.unknown-key.refused',
    section: 'API keys',
    rule: 'With an unknown key all 14 endpoints return 401 invalid_key.',
    async run(context) {
      const holds = (exchange: Exchange): boolean =>
        exchange.status === 401 && codeOf(exchange) === 'invalid_key';
      demandEach(await withUnknownKey(context), '401 invalid_key', holds);
    },
  },
  {
    id: 'auth.challenge',
    section: 'API keys',
    rule: 'Every 401 carries WWW-Authenticate: Bearer with an error parameter.',
    async run(context) {
      const exchanges = [...(await withoutCredential(context)), ...(await withUnknownKey(context))];
      const refused = exchanges.filter(({ status }) => status === 401);
      const holds = (exchange: Exchange): boolean => CHALLENGE.test(challengeOf(exchange));
      demandEach(refused, 'WWW-Authenticate: Bearer …error="…"', holds, challengeOf);
      if (refused.length === 0) throw new Violation('a 401 to inspect', 'none among all errors');
    },
  },
  {
    id: 'auth.other-scheme',
    rule: 'A key with another scheme than Bearer is rejected with 401.',
    level: 'should',
    async run(context) {
      const basic = Buffer.from(`key:${context.inputs.apiKey}`).toString('base64');
      context.secrets.add(basic, 'API key as Basic');
      const client = context.clientFor({ as: 'key under Basic', authorization: `Basic ${basic}` });
      expectStatus(await client.request('GET', '/connections'), 401);
    },
  },
  {
    id: 'auth.key-in-address',
    rule: 'A key in the URL is not accepted as a credential: URLs end up in logs.',
    level: 'should',
    async run(context) {
      const key = encodeURIComponent(context.inputs.apiKey);
      for (const name of ['access_token', 'api_key']) {
        const client = context.clientFor({ as: 'key in the URL' });
        expectStatus(await client.request('GET', `/connections?${name}=${key}`), 401);
      }
    },
  },
  {
    id: 'auth.scheme-case',
    rule: 'The name of the scheme is case-insensitive, as in HTTP.',
    level: 'should',
    async run(context) {
      const authorization = `bearer ${context.inputs.apiKey}`;
      const exchange = await context
        .clientFor({ as: 'bearer', authorization })
        .request('GET', '/connections');
      if (exchange.status === 401) throw new Violation('the same as for Bearer', nameAnswer(exchange));
    },
  },
]);
