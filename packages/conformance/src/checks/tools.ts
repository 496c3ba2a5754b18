import { randomUUID } from 'node:crypto';
import { Skip, Violation } from '../../../certify/src/runner/check.ts';
import { type Exchange, parseJson } from '../../../certify/src/runner/exchange.ts';
import { readConnections } from '../fixtures/connections.ts';
import { authServer, expectChallenge, grant, withToken } from '../fixtures/oauth.ts';
import type { ServiceContext } from '../service/context.ts';
import { codeOf, expectStatus, fieldsOf, isObject, nameAnswer, nameValue } from '../service/judge.ts';
import { NO_PHONE, UNKNOWN_ID } from '../service/requests.ts';
import { inSection } from '../service/service-check.ts';
import { readingGrant } from './oauth-tokens.ts';

const SECTION = 'Tool server';
const PATH = '/api/mcp';
const REVISION = '2025-06-18';
const TOOLS = ['list_messaging_connections', 'read_messaging_messages', 'send_messaging_message'];
const HEADERS = { accept: 'application/json, text/event-stream' };
const GRANT = ['oauth', 'grant'] as const;

type Fields = Readonly<Record<string, unknown>>;

/** A JSON-RPC request of the Streamable HTTP transport. */
function call(method: string, params: object = {}, headers: Readonly<Record<string, string>> = {}) {
  const rawBody = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  return { rawBody, headers: { ...HEADERS, ...headers } };
}

/** Ends the handshake: before it, a server may refuse every other request. */
const INITIALIZED = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' });

const INITIALIZE = call('initialize', {
  protocolVersion: REVISION,
  capabilities: {},
  clientInfo: { name: 'conformance', version: '1' },
});

/** The data of the events of a stream. Only CR, LF and both end a line. */
const readEvents = (text: string): readonly string[] =>
  text
    .replace(/\r\n?/g, '\n')
    .split('\n\n')
    .map((event) => event.split('\n').flatMap((line) => (line.startsWith('data:') ? [line.slice(5)] : [])))
    .map((lines) => lines.join('\n'));

/** The response to a request: as JSON, or as the last event with one. @throws Violation if there is none */
function readReply(exchange: Exchange): Fields {
  expectStatus(exchange, 200);
  const isStream = (exchange.headers.get('content-type') ?? '').startsWith('text/event-stream');
  const messages = isStream ? readEvents(exchange.text).map(parseJson) : [exchange.json];
  const reply = messages.filter(isObject).findLast(({ id }) => id === 1);
  if (reply === undefined) throw new Violation('a JSON-RPC response', nameAnswer(exchange), exchange);
  return reply;
}

function readResult(exchange: Exchange): Fields {
  const { result, error } = readReply(exchange);
  if (isObject(result)) return result;
  const message = isObject(error) ? `the error ${nameValue(error['message'])}` : 'no result';
  throw new Violation('a result', message, exchange);
}

/** @throws Violation unless the call of a tool failed, as a result or as an error of the protocol */
function expectFailed(exchange: Exchange): void {
  if (exchange.status >= 400 && exchange.status <= 499) return;
  const { result, error } = readReply(exchange);
  if (isObject(error) || (isObject(result) && result['isError'] === true)) return;
  throw new Violation('an error', 'a result', exchange);
}

/** The server with a token, after the handshake, in the revision and with the session id that it chose. */
async function toolServer(context: ServiceContext, token: string) {
  const client = withToken(context, token, context.inputs.authUrl);
  const { chosen } = await context.once(`a session of the tool server with ${token}`, async () => {
    const exchange = await client.request('POST', PATH, INITIALIZE);
    const session = exchange.headers.get('mcp-session-id');
    const chosen = {
      'mcp-protocol-version': String(readResult(exchange)['protocolVersion'] ?? REVISION),
      ...(session === null ? {} : { 'mcp-session-id': session }),
    };
    await client.request('POST', PATH, { rawBody: INITIALIZED, headers: { ...HEADERS, ...chosen } });
    return { exchange, chosen };
  });
  return (method: string, params?: object): Promise<Exchange> =>
    client.request('POST', PATH, call(method, params, chosen));
}

async function callTool(context: ServiceContext, token: string, name: string, args: object = {}) {
  return (await toolServer(context, token))('tools/call', { name, arguments: args });
}

/** A send that no service can carry out. */
const NOBODY = { connectionId: UNKNOWN_ID, to: NO_PHONE, text: 'Conformance check' };

/** The remote tool server. Implements `Tool server`. */
export const toolChecks = inSection({ section: SECTION, needs: GRANT }, [
  {
    id: 'tools.none',
    rule: 'Without a token the tool server returns 401 with WWW-Authenticate: Bearer.',
    needs: ['auth'],
    async run(context) {
      const exchange = await authServer(context).request('POST', PATH, INITIALIZE);
      expectStatus(exchange, 401);
      expectChallenge(exchange, /.*/);
    },
  },
  {
    id: 'tools.metadata',
    rule: 'The challenge names the metadata of the resource (RFC 9728), which names the authorization server.',
    level: 'should',
    needs: ['auth'],
    async run(context) {
      const refused = await authServer(context).request('POST', PATH, INITIALIZE);
      const challenge = refused.headers.get('www-authenticate') ?? '';
      const [, address = ''] = /resource_metadata="([^"]+)"/.exec(challenge) ?? [];
      if (!URL.canParse(address))
        throw new Violation('resource_metadata', challenge || 'no such header', refused);
      const { origin, pathname } = new URL(address);
      const client = context.clientFor({ as: 'no credential', baseUrl: origin });
      const exchange = await client.request('GET', pathname);
      const servers = fieldsOf(exchange)['authorization_servers'];
      if (!Array.isArray(servers) || !servers.includes(context.inputs.authUrl))
        throw new Violation(`authorization_servers: ${context.inputs.authUrl}`, nameValue(servers), exchange);
    },
  },
  {
    id: 'tools.key',
    rule: 'The tool server refuses an API key: it authenticates with OAuth.',
    level: 'reading',
    needs: ['auth'],
    async run(context) {
      const client = withToken(context, context.inputs.apiKey, context.inputs.authUrl);
      expectStatus(await client.request('POST', PATH, INITIALIZE), 401);
    },
  },
  {
    id: 'tools.initialize',
    rule: 'The tool server answers initialize over Streamable HTTP, and offers tools.',
    async run(context) {
      const client = withToken(context, (await grant(context)).access, context.inputs.authUrl);
      const exchange = await client.request('POST', PATH, INITIALIZE);
      const { protocolVersion, capabilities } = readResult(exchange);
      if (typeof protocolVersion !== 'string' || !isObject(capabilities) || !isObject(capabilities['tools']))
        throw new Violation('protocolVersion and the capability tools', nameValue(capabilities), exchange);
    },
  },
  {
    id: 'tools.list',
    rule: `tools/list returns exactly three tools: ${TOOLS.join(', ')}.`,
    async run(context) {
      const exchange = await (await toolServer(context, (await grant(context)).access))('tools/list');
      const { tools } = readResult(exchange);
      const names = Array.isArray(tools)
        ? tools.map((tool: unknown) => (isObject(tool) ? tool['name'] : tool))
        : [];
      const shown = names.map(String).sort().join(', ');
      if (shown !== TOOLS.join(', ')) throw new Violation(TOOLS.join(', '), shown || 'none', exchange);
    },
  },
  {
    id: 'tools.connections',
    rule: 'list_messaging_connections returns the connections of the grant.',
    async run(context) {
      const { access } = await grant(context);
      const list = readConnections(await withToken(context, access).request('GET', '/connections'));
      const exchange = await callTool(context, access, 'list_messaging_connections');
      const text = JSON.stringify(readResult(exchange));
      const missing = list.find(({ id }) => !text.includes(id));
      if (missing !== undefined)
        throw new Violation(`the connection ${missing.id}`, 'not in the result', exchange);
    },
  },
  {
    id: 'tools.messages',
    rule: 'read_messaging_messages returns a result.',
    async run(context) {
      const { access } = await grant(context);
      const exchange = await callTool(context, access, 'read_messaging_messages');
      if (readResult(exchange)['isError'] === true) throw new Violation('a result', 'an error', exchange);
    },
  },
  {
    id: 'tools.send.refused',
    rule: 'A send through a connection that does not exist is an error of the tool.',
    async run(context) {
      const { access } = await grant(context);
      const args = { ...NOBODY, idempotencyKey: randomUUID() };
      expectFailed(await callTool(context, access, 'send_messaging_message', args));
    },
  },
  {
    id: 'tools.unknown',
    rule: 'A tool that does not exist is an error.',
    async run(context) {
      expectFailed(await callTool(context, (await grant(context)).access, 'delete_everything'));
    },
  },
  {
    id: 'tools.scope',
    section: 'Scopes',
    rule: 'A grant of messaging.read cannot send with send_messaging_message.',
    needs: ['oauth', 'full', 'recipient'],
    async run(context) {
      const { access } = await readingGrant(context);
      const [listed] = readConnections(await withToken(context, access).request('GET', '/connections'));
      if (listed === undefined) throw new Skip('the grant lists no connection');
      const text = 'Conformance check: not to be sent';
      const args = { connectionId: listed.id, to: context.inputs.recipient, text };
      expectFailed(await callTool(context, access, 'send_messaging_message', args));
    },
  },
  {
    id: 'tools.scope.status',
    section: 'Scopes',
    rule: 'A grant of messaging.read gets 403 insufficient_scope, with a challenge, from send_messaging_message.',
    level: 'reading',
    needs: ['oauth', 'full'],
    async run(context) {
      const { access } = await readingGrant(context);
      const exchange = await callTool(context, access, 'send_messaging_message', NOBODY);
      if (exchange.status !== 403) throw new Violation('status 403', nameAnswer(exchange), exchange);
      expectChallenge(exchange, /error="?insufficient_scope/);
      const code = codeOf(exchange);
      if (code !== undefined && code !== 'insufficient_scope')
        throw new Violation('insufficient_scope', code, exchange);
    },
  },
]);
