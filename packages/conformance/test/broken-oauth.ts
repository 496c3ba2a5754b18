import {
  type Breakage,
  type Broken,
  json,
  type PassingAnswer,
  type PassingRequest,
  setting,
} from './broken-proxy.ts';

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
export const BROKEN_OAUTH: Broken<() => Breakage> = {
  'oauth.discovery': {
    'discovery names no token endpoint': answering(DISCOVERY, ({ body }) => void delete body.token_endpoint),
  },
  'oauth.discovery.issuer': {
    'the issuer is another address': answering(DISCOVERY, ({ body }) =>
      setting({ issuer: 'https://other.example' })(body),
    ),
  },
  'oauth.discovery.hosts': {
    'the token endpoint is elsewhere': answering(DISCOVERY, ({ body }) =>
      setting({ token_endpoint: 'https://other.example/token' })(body),
    ),
  },
  'oauth.discovery.pkce': {
    'plain challenges are offered': answering(DISCOVERY, ({ body }) =>
      body.code_challenge_methods_supported.push('plain'),
    ),
  },
  'oauth.discovery.client': {
    'only Basic is offered': answering(DISCOVERY, ({ body }) =>
      setting({ token_endpoint_auth_methods_supported: ['client_secret_basic'] })(body),
    ),
  },
  'oauth.authorize.pkce': {
    'no challenge is needed': consenting((asked) => !asked.has('code_challenge')),
  },
  'oauth.authorize.plain': {
    'plain challenges are accepted': consenting((asked) => asked.get('code_challenge_method') === 'plain'),
  },
  'oauth.authorize.type': {
    'tokens are given in the redirect': consenting((asked) => asked.get('response_type') === 'token'),
  },
  'oauth.authorize.redirect': {
    'errors are sent to any redirect URI': replacing(AUTHORIZE, (request) => {
      const uri = query(request).get('redirect_uri') ?? '';
      return uri.includes('invalid')
        ? json(302, undefined, { location: `${uri}?error=invalid_request` })
        : undefined;
    }),
  },
  'oauth.authorize.client': {
    'unknown apps are redirected': replacing(AUTHORIZE, (request) =>
      query(request).get('client_id')?.includes('unknown') === true
        ? json(302, undefined, { location: `${query(request).get('redirect_uri')}?error=invalid_client` })
        : undefined,
    ),
  },
  'oauth.authorize.state': {
    'the state of a refusal is lost': answering(AUTHORIZE, ({ headers }) => {
      headers['location'] = String(headers['location']).replace(/state=[^&]*/, '');
    }),
  },
  'oauth.client.secret': {
    'any client secret is accepted': refusing('invalid_client', 'invalid_grant'),
  },
  'oauth.client.header': {
    'client credentials in a header are accepted': accepting(
      (_, { headers }) => headers['authorization'] !== undefined,
    ),
  },
  'oauth.refresh.unknown': {
    'a wrong refresh token causes another error': refusing('invalid_grant', 'invalid_request'),
  },
  'oauth.code.verifier': {
    'any verifier is accepted': accepting((asked) => asked.get('code_verifier') === 'v'.repeat(43)),
  },
  'oauth.code.secret': {
    'a code needs no secret': accepting(
      (asked) => asked.has('code') && asked.get('client_secret')?.includes('nobody') === true,
    ),
  },
  'oauth.token.type': {
    'tokens are of type MAC': issuing(setting({ token_type: 'MAC' })),
  },
  'oauth.token.jwt': {
    'access tokens are valid for an hour': issuing(setting({ expires_in: 3_600 })),
  },
  'oauth.refresh.life': {
    'refresh tokens are valid for a year': issuing(setting({ refresh_token_expires_in: 31_536_000 })),
  },
  'oauth.token.cache': {
    'tokens may be cached': issuing((_, answer) => void delete answer.headers['cache-control']),
  },
  'oauth.scope.granted': {
    'a grant of one scope has all': issuing(setting({ scope: 'messaging.read messaging.send' })),
  },
  'oauth.scope.needed': {
    'scopes of a request are ignored': () => ({
      ask(request) {
        if (AUTHORIZE.test(request.path)) request.path = request.path.replace(/&scope=[^&]*/, '');
        return undefined;
      },
    }),
  },
  'oauth.refresh.rotates': {
    'a refresh returns the same refresh token': answering(TOKEN, ({ status, body }, request) => {
      const given = form(request).get('refresh_token');
      if (status === 200 && given !== null) body.refresh_token = given;
    }),
  },
  'oauth.refresh.old': {
    'an old refresh token remains valid': acceptingAgain('refresh_token'),
  },
  'oauth.refresh.reuse': {
    'a second use of a refresh token has no consequence': forgetting('refresh_token'),
  },
  'oauth.code.reuse': {
    'a code can be redeemed twice': acceptingAgain('code'),
  },
  'oauth.code.revokes': {
    'a second use of a code has no consequence': forgetting('code'),
  },
  'tools.none': {
    'the tool server requires no token': replacing(TOOLS, ({ headers }) =>
      headers['authorization'] === undefined ? json(200, { jsonrpc: '2.0', id: 1, result: {} }) : undefined,
    ),
  },
  'tools.metadata': {
    'the challenge names no metadata': answering(TOOLS, ({ headers }) => {
      if (headers['www-authenticate'] !== undefined) headers['www-authenticate'] = 'Bearer';
    }),
  },
  'tools.key': {
    'the tool server accepts API keys': answering(TOOLS, (answer) => {
      if (answer.status === 401) answer.status = 200;
    }),
  },
  'tools.initialize': {
    'the tool server offers no tools': toolAnswer('initialize', setting({ capabilities: {} })),
  },
  'tools.list': {
    'the tool server has a fourth tool': toolAnswer('tools/list', ({ tools }) =>
      (tools as object[]).push({ name: 'delete_connection' }),
    ),
  },
  'tools.connections': {
    'the tool lists no connections': toolAnswer('tools/call', (result) => {
      result['content'] = [];
      delete result['structuredContent'];
    }),
  },
  'tools.messages': {
    'the tool cannot read messages': toolAnswer('tools/call', setting({ isError: true })),
  },
  'tools.send.refused': {
    'a send through no connection succeeds': toolAnswer('tools/call', setting({ isError: false })),
  },
  'tools.unknown': {
    'unknown tools succeed': toolAnswer('tools/call', setting({ isError: false })),
  },
  'tools.scope': {
    'a tool sends without its scope': answering(TOOLS, (answer) => {
      if (answer.status === 403) Object.assign(answer, json(200, { jsonrpc: '2.0', id: 1, result: {} }));
    }),
  },
  'tools.scope.status': {
    'the tool server lacks a challenge for a scope': answering(TOOLS, (answer) => {
      if (answer.status === 403) delete answer.headers['www-authenticate'];
    }),
  },
};

const REST: RegExp = /^\/connections(\?|$)/;

/** How a REST API treats access tokens. */
export const BROKEN_GRANTS: Broken<() => Breakage> = {
  'oauth.token.invalid': {
    'REST sends no challenge': answering(REST, ({ headers }) => void delete headers['www-authenticate']),
  },
  'oauth.grant.list': {
    'a grant lists nothing': answering(REST, (answer) => {
      if (answer.status === 200) answer.body = { connections: [] };
    }),
  },
  'oauth.grant.isolation': {
    'a grant lists nothing, with an error': answering(REST, (answer, { headers }) => {
      if (headers['authorization']?.startsWith('Bearer ey')) answer.status = 404;
    }),
    'a grant lists connections of other workspaces': answering(REST, (answer) => {
      if (answer.status === 200) answer.body = { connections: [{ id: 'cshared00000000000000000000' }] };
    }),
  },
};
