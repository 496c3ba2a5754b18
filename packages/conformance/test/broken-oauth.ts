import { type Breakage, json, type PassingAnswer, type PassingRequest, setting } from './broken-proxy.ts';

/** How an authorization server or a tool server breaks a rule, and the check that must report it. */
export interface BrokenOauth {
  readonly what: string;
  readonly found: string;
  readonly breakage: () => Breakage;
}

const DISCOVERY = /oauth-authorization-server$/;
const AUTHORIZE = /^\/oauth\/authorize/;
const TOKEN = /^\/oauth\/token/;
const TOOLS = /^\/api\/mcp/;

function answering(path: RegExp, change: (answer: PassingAnswer, request: PassingRequest) => void) {
  return (): Breakage => ({
    answer(answer, request) {
      if (path.test(request.path)) change(answer, request);
    },
  });
}

/** Answers some requests in place of the server. */
function replacing(path: RegExp, replace: (request: PassingRequest) => PassingAnswer | undefined) {
  return (): Breakage => ({ ask: (request) => (path.test(request.path) ? replace(request) : undefined) });
}

const query = ({ path }: PassingRequest): URLSearchParams => new URL(path, 'http://any').searchParams;
const form = ({ body }: PassingRequest): URLSearchParams => new URLSearchParams(String(body));

/** Grants consent to any request that `mistaken` selects. */
function consenting(mistaken: (asked: URLSearchParams) => boolean) {
  return replacing(AUTHORIZE, (request) => {
    const asked = query(request);
    if (!mistaken(asked)) return undefined;
    return json(302, undefined, { location: `${asked.get('redirect_uri')}?code=granted&state=x` });
  });
}

/** Replaces requests of the tool server that call a method. */
function toolAnswer(method: string, change: (result: Record<string, unknown>, name: unknown) => void) {
  return answering(TOOLS, (answer, { body }) => {
    if (body?.method !== method) return;
    const isStream = String(answer.headers['content-type']).startsWith('text/event-stream');
    const reply = isStream ? JSON.parse(/^data: (.+)$/m.exec(answer.body)?.[1] ?? '{}') : answer.body;
    if (reply.result === undefined) {
      delete reply.error;
      reply.result = {};
    }
    change(reply.result, body.params?.name);
    answer.headers['content-type'] = 'application/json';
    answer.body = reply;
  });
}

const TOKENS = { access_token: 'a.b.c', refresh_token: 'another', token_type: 'Bearer', expires_in: 900 };

/** Accepts any form that `mistaken` selects. */
function accepting(mistaken: (asked: URLSearchParams, request: PassingRequest) => boolean) {
  return replacing(TOKEN, (request) => (mistaken(form(request), request) ? json(200, TOKENS) : undefined));
}

/** Accepts the second use of a parameter. */
function acceptingAgain(parameter: string) {
  return (): Breakage => {
    const seen = new Set<string | null>();
    return accepting((asked) => {
      const value = asked.get(parameter);
      if (value === null || seen.has(value)) return value !== null;
      seen.add(value);
      return false;
    })();
  };
}

/** Hides the second use of a parameter from the server, which then revokes nothing. */
function forgetting(parameter: string) {
  return (): Breakage => {
    const seen = new Set<string>();
    return replacing(TOKEN, (request) => {
      const value = form(request).get(parameter);
      if (value === null) return undefined;
      if (seen.has(value)) return json(400, { error: 'invalid_grant' });
      seen.add(value);
      return undefined;
    })();
  };
}

const issuing = (change: (body: PassingAnswer['body'], answer: PassingAnswer) => void) =>
  answering(TOKEN, (answer) => {
    if (answer.status === 200) change(answer.body, answer);
  });

const refusing = (error: string, as: string) =>
  answering(TOKEN, (answer) => {
    if (answer.body?.error === error) answer.body = { error: as };
  });

/** Authorization servers and tool servers that are correct except for one mistake. */
export const BROKEN_OAUTH: readonly BrokenOauth[] = [
  {
    what: 'discovery names no token endpoint',
    found: 'oauth.discovery',
    breakage: answering(DISCOVERY, ({ body }) => void delete body.token_endpoint),
  },
  {
    what: 'the issuer is another address',
    found: 'oauth.discovery.issuer',
    breakage: answering(DISCOVERY, ({ body }) => setting({ issuer: 'https://other.example' })(body)),
  },
  {
    what: 'the token endpoint is elsewhere',
    found: 'oauth.discovery.hosts',
    breakage: answering(DISCOVERY, ({ body }) =>
      setting({ token_endpoint: 'https://other.example/token' })(body),
    ),
  },
  {
    what: 'plain challenges are offered',
    found: 'oauth.discovery.pkce',
    breakage: answering(DISCOVERY, ({ body }) => body.code_challenge_methods_supported.push('plain')),
  },
  {
    what: 'only Basic is offered',
    found: 'oauth.discovery.client',
    breakage: answering(DISCOVERY, ({ body }) =>
      setting({ token_endpoint_auth_methods_supported: ['client_secret_basic'] })(body),
    ),
  },
  {
    what: 'no challenge is needed',
    found: 'oauth.authorize.pkce',
    breakage: consenting((asked) => !asked.has('code_challenge')),
  },
  {
    what: 'plain challenges are accepted',
    found: 'oauth.authorize.plain',
    breakage: consenting((asked) => asked.get('code_challenge_method') === 'plain'),
  },
  {
    what: 'tokens are given in the redirect',
    found: 'oauth.authorize.type',
    breakage: consenting((asked) => asked.get('response_type') === 'token'),
  },
  {
    what: 'errors are sent to any redirect URI',
    found: 'oauth.authorize.redirect',
    breakage: replacing(AUTHORIZE, (request) => {
      const uri = query(request).get('redirect_uri') ?? '';
      return uri.includes('invalid')
        ? json(302, undefined, { location: `${uri}?error=invalid_request` })
        : undefined;
    }),
  },
  {
    what: 'unknown apps are redirected',
    found: 'oauth.authorize.client',
    breakage: replacing(AUTHORIZE, (request) =>
      query(request).get('client_id')?.includes('unknown') === true
        ? json(302, undefined, { location: `${query(request).get('redirect_uri')}?error=invalid_client` })
        : undefined,
    ),
  },
  {
    what: 'the state of a refusal is lost',
    found: 'oauth.authorize.state',
    breakage: answering(AUTHORIZE, ({ headers }) => {
      headers['location'] = String(headers['location']).replace(/state=[^&]*/, '');
    }),
  },
  {
    what: 'any client secret is accepted',
    found: 'oauth.client.secret',
    breakage: refusing('invalid_client', 'invalid_grant'),
  },
  {
    what: 'client credentials in a header are accepted',
    found: 'oauth.client.header',
    breakage: accepting((_, { headers }) => headers['authorization'] !== undefined),
  },
  {
    what: 'a wrong refresh token causes another error',
    found: 'oauth.refresh.unknown',
    breakage: refusing('invalid_grant', 'invalid_request'),
  },
  {
    what: 'any verifier is accepted',
    found: 'oauth.code.verifier',
    breakage: accepting((asked) => asked.get('code_verifier') === 'v'.repeat(43)),
  },
  {
    what: 'a code needs no secret',
    found: 'oauth.code.secret',
    breakage: accepting(
      (asked) => asked.has('code') && asked.get('client_secret')?.includes('nobody') === true,
    ),
  },
  {
    what: 'tokens are of type MAC',
    found: 'oauth.token.type',
    breakage: issuing(setting({ token_type: 'MAC' })),
  },
  {
    what: 'access tokens are valid for an hour',
    found: 'oauth.token.jwt',
    breakage: issuing(setting({ expires_in: 3_600 })),
  },
  {
    what: 'refresh tokens are valid for a year',
    found: 'oauth.refresh.life',
    breakage: issuing(setting({ refresh_token_expires_in: 31_536_000 })),
  },
  {
    what: 'tokens may be cached',
    found: 'oauth.token.cache',
    breakage: issuing((_, answer) => void delete answer.headers['cache-control']),
  },
  {
    what: 'a grant of one scope has all',
    found: 'oauth.scope.granted',
    breakage: issuing(setting({ scope: 'messaging.read messaging.send' })),
  },
  {
    what: 'scopes of a request are ignored',
    found: 'oauth.scope.needed',
    breakage: () => ({
      ask(request) {
        if (AUTHORIZE.test(request.path)) request.path = request.path.replace(/&scope=[^&]*/, '');
        return undefined;
      },
    }),
  },
  {
    what: 'a refresh returns the same refresh token',
    found: 'oauth.refresh.rotates',
    breakage: answering(TOKEN, ({ status, body }, request) => {
      const given = form(request).get('refresh_token');
      if (status === 200 && given !== null) body.refresh_token = given;
    }),
  },
  {
    what: 'an old refresh token remains valid',
    found: 'oauth.refresh.old',
    breakage: acceptingAgain('refresh_token'),
  },
  {
    what: 'a second use of a refresh token has no consequence',
    found: 'oauth.refresh.reuse',
    breakage: forgetting('refresh_token'),
  },
  { what: 'a code can be redeemed twice', found: 'oauth.code.reuse', breakage: acceptingAgain('code') },
  {
    what: 'a second use of a code has no consequence',
    found: 'oauth.code.revokes',
    breakage: forgetting('code'),
  },
  {
    what: 'the tool server requires no token',
    found: 'tools.none',
    breakage: replacing(TOOLS, ({ headers }) =>
      headers['authorization'] === undefined ? json(200, { jsonrpc: '2.0', id: 1, result: {} }) : undefined,
    ),
  },
  {
    what: 'the challenge names no metadata',
    found: 'tools.metadata',
    breakage: answering(TOOLS, ({ headers }) => {
      if (headers['www-authenticate'] !== undefined) headers['www-authenticate'] = 'Bearer';
    }),
  },
  {
    what: 'the tool server accepts API keys',
    found: 'tools.key',
    breakage: answering(TOOLS, (answer) => {
      if (answer.status === 401) answer.status = 200;
    }),
  },
  {
    what: 'the tool server offers no tools',
    found: 'tools.initialize',
    breakage: toolAnswer('initialize', setting({ capabilities: {} })),
  },
  {
    what: 'the tool server has a fourth tool',
    found: 'tools.list',
    breakage: toolAnswer('tools/list', ({ tools }) =>
      (tools as object[]).push({ name: 'delete_connection' }),
    ),
  },
  {
    what: 'the tool lists no connections',
    found: 'tools.connections',
    breakage: toolAnswer('tools/call', (result) => {
      result['content'] = [];
      delete result['structuredContent'];
    }),
  },
  {
    what: 'the tool cannot read messages',
    found: 'tools.messages',
    breakage: toolAnswer('tools/call', setting({ isError: true })),
  },
  {
    what: 'a send through no connection succeeds',
    found: 'tools.send.refused',
    breakage: toolAnswer('tools/call', setting({ isError: false })),
  },
  {
    what: 'unknown tools succeed',
    found: 'tools.unknown',
    breakage: toolAnswer('tools/call', setting({ isError: false })),
  },
  {
    what: 'a tool sends without its scope',
    found: 'tools.scope',
    breakage: answering(TOOLS, (answer) => {
      if (answer.status === 403) Object.assign(answer, json(200, { jsonrpc: '2.0', id: 1, result: {} }));
    }),
  },
  {
    what: 'the tool server lacks a challenge for a scope',
    found: 'tools.scope.status',
    breakage: answering(TOOLS, (answer) => {
      if (answer.status === 403) delete answer.headers['www-authenticate'];
    }),
  },
];

const REST: RegExp = /^\/connections(\?|$)/;

/** How a REST API treats access tokens. */
export const BROKEN_GRANTS: readonly BrokenOauth[] = [
  {
    what: 'REST sends no challenge',
    found: 'oauth.token.invalid',
    breakage: answering(REST, ({ headers }) => void delete headers['www-authenticate']),
  },
  {
    what: 'a grant lists nothing',
    found: 'oauth.grant.list',
    breakage: answering(REST, (answer) => {
      if (answer.status === 200) answer.body = { connections: [] };
    }),
  },
  {
    what: 'a grant lists nothing, with an error',
    found: 'oauth.grant.isolation',
    breakage: answering(REST, (answer, { headers }) => {
      if (headers['authorization']?.startsWith('Bearer ey')) answer.status = 404;
    }),
  },
  {
    what: 'a grant lists connections of other workspaces',
    found: 'oauth.grant.isolation',
    breakage: answering(REST, (answer) => {
      if (answer.status === 200) answer.body = { connections: [{ id: 'cshared00000000000000000000' }] };
    }),
  },
];
