import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type App, createOauthVisitor, type OauthVisitor } from './oauth-visitor.ts';
import { callMethod, callTool, ERAS, type Era, postMessage } from './tool-wire.ts';
import {
  addTenant,
  type Json,
  nextNumber,
  outcomeOf,
  request,
  startWireService,
  type Tenant,
  type WireService,
} from './wire-service.ts';

/*
 * The tool server by JSON-RPC in bare HTTP requests, for revisions with a handshake and for the one without.
 */

const LIST = 'list_messaging_connections';
const SEND = 'send_messaging_message';
const READ = 'read_messaging_messages';
const MODERN = '2026-07-28';

describe('the tool server', () => {
  let service: WireService;
  let visitor: OauthVisitor;

  beforeAll(async () => {
    service = await startWireService();
    visitor = await createOauthVisitor(service);
  });
  afterAll(() => service.close());

  interface Agent extends Tenant {
    readonly app: App;
    readonly token: string;
  }
  async function addAgent(count = 1, changes = {}): Promise<Agent> {
    const tenant = await addTenant(service, count);
    const app = await visitor.register({ ownerWorkspaceId: tenant.workspaceId });
    const { access_token: token } = await visitor.obtainTokens(app, changes);
    return { ...tenant, app, token };
  }
  let contacts = 0;
  /** A person on the network to whom nobody has written. */
  const addContact = async (): Promise<string> => {
    contacts += 1;
    const phone = `4477009${String(contacts).padStart(5, '0')}`;
    await service.control('PUT', `/contacts/${phone}`, { onNetwork: true });
    return phone;
  };
  const receivedBy = async (contact: string): Promise<Json[]> =>
    (await service.control('GET', `/contacts/${contact}/messages`)).entries;
  /** The words of a result that is an error. */
  function refusalOf(result: Json): string {
    expect(result.isError, JSON.stringify(result)).toBe(true);
    expect(result.content[0].type).toBe('text');
    return result.content[0].text;
  }

  describe.each(ERAS)('in revision $revision', (era: Era) => {
    let agent: Agent;
    beforeAll(async () => {
      agent = await addAgent(2);
    });
    const call = (name: string, args: object = {}, token = agent.token): Promise<Json> =>
      callTool(service, era, token, name, args);

    test('sends a message, once for a key, and reads it', async () => {
      const to = await addContact();
      const { message } = await callMethod(service, era, agent.token, 'tools/list');
      const schemaOf = (name: string) =>
        z.fromJSONSchema(message.result.tools.find((tool: Json) => tool.name === name).outputSchema);
      const args = { connectionId: agent.first, to, text: 'from a tool', idempotencyKey: `key-${to}` };
      const sent = await call(SEND, args);
      expect(sent.isError ?? false, JSON.stringify(sent)).toBe(false);
      schemaOf(SEND).parse(sent.structuredContent);
      const { messageId } = sent.structuredContent;
      const repeated = await call(SEND, args);
      expect(repeated.structuredContent.messageId).toBe(messageId);
      expect(await receivedBy(to)).toMatchObject([{ messageId, text: 'from a tool' }]);

      await service.advance(60_000);
      const { entries: ledger } = await service.control('GET', '/ledger?limit=1000');
      const told = ledger.filter((entry: Json) => entry.messageId === messageId);
      expect(told.map(({ event }: Json) => event)).toEqual(Array(3).fill('message.status'));
      const answer = { connectionId: agent.first, text: 'to a tool' };
      const { messageId: incoming } = await service.control('POST', `/contacts/${to}/messages`, answer);
      const read = await call(READ, { connectionId: agent.first });
      schemaOf(READ).parse(read.structuredContent);
      expect(read.structuredContent.messages).toMatchObject([
        { id: incoming, direction: 'incoming', text: 'to a tool', connectionId: agent.first },
        { id: messageId, direction: 'outgoing', text: 'from a tool', connectionId: agent.first },
      ]);
      expect(JSON.parse(read.content[0].text)).toEqual(read.structuredContent);
      schemaOf(LIST).parse((await call(LIST)).structuredContent);

      const { body: page } = await service.api(agent.token, 'GET', '/messages');
      expect(page.messages.map(({ id }: Json) => id)).toEqual([incoming, messageId]);
      const first = (await call(READ, { limit: 1 })).structuredContent;
      expect(first).toMatchObject({ messages: [{ id: incoming }], hasMore: true });
      const next = (await call(READ, { limit: 1, cursor: first.nextCursor })).structuredContent;
      expect(next).toMatchObject({ messages: [{ id: messageId }], hasMore: false, nextCursor: null });
    });

    test('counts the characters of a text, and sends the same text again only if this is intended', async () => {
      const to = await addContact();
      const text = '\u{1F600}'.repeat(4096);
      const send = async (args: object = {}): Promise<Json> => {
        const result = await call(SEND, { connectionId: agent.first, to, text, ...args });
        expect(result.isError ?? false, JSON.stringify(result).slice(0, 500)).toBe(false);
        return result.structuredContent;
      };
      const first = await send();
      const { messageId } = first;
      expect(await send()).toMatchObject({ messageId, alreadySent: true });
      expect(await receivedBy(to)).toMatchObject([{ messageId, text }]);
      const other = { connectionId: agent.first, to, text: 'never', idempotencyKey: first.idempotencyKey };
      expect(refusalOf(await call(SEND, other))).toMatch(/^idempotency_key_reuse: \w/);
      const meant = await send({ idempotencyKey: `again-${to}` });
      expect(meant.messageId).not.toBe(messageId);
      expect(await receivedBy(to)).toHaveLength(2);
      const long = { connectionId: agent.first, to, text: `${text}.` };
      expect(refusalOf(await call(SEND, long))).toMatch(/invalid_request/);
    });

    test('answers an unknown tool and an unknown method with a protocol error', async () => {
      for (const name of ['send_message', '', `${LIST}s`]) {
        const { message } = await callMethod(service, era, agent.token, 'tools/call', {
          name,
          arguments: {},
        });
        expect(message.error.code, name).toBe(-32602);
      }
      const { status, message } = await callMethod(service, era, agent.token, 'resources/list');
      expect(message.error.code).toBe(-32601);
      expect(status).toBe(era.revision === MODERN ? 404 : 200);
    });
  });

  describe('with a handshake', () => {
    const initialize = (protocolVersion: string) => ({
      jsonrpc: '2.0',
      id: 0,
      method: 'initialize',
      params: { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    });

    test('accepts a known revision, and offers a known one in place of an unknown one', async () => {
      const { token } = await addAgent();
      for (const revision of ['2025-06-18', '2025-11-25']) {
        const { message, headers } = await postMessage(service, token, initialize(revision));
        expect(message.result).toMatchObject({
          protocolVersion: revision,
          capabilities: { tools: {} },
          serverInfo: { name: expect.any(String), version: expect.any(String) },
        });
        expect(headers.get('mcp-session-id')).toBeNull();
      }
      const { message } = await postMessage(service, token, initialize('1999-12-31'));
      expect(['2025-06-18', '2025-11-25']).toContain(message.result.protocolVersion);
      const said = { jsonrpc: '2.0', method: 'notifications/initialized' };
      const accepted = await postMessage(service, token, said, { 'mcp-protocol-version': '2025-11-25' });
      expect([accepted.status, accepted.text]).toEqual([202, '']);
    });
  });

  describe('without a handshake', () => {
    const modern = ERAS.find(({ revision }) => revision === MODERN);
    if (modern === undefined) throw new Error('The stateless revision is missing.');
    const wrapped = (method: string, params: object = {}) =>
      modern.wrap({ jsonrpc: '2.0', id: 1, method, params });

    test('describes itself on request', async () => {
      const { token } = await addAgent();
      const { message } = await callMethod(service, modern, token, 'server/discover');
      expect(message.result).toMatchObject({
        resultType: 'complete',
        capabilities: { tools: {} },
        ttlMs: expect.any(Number),
        cacheScope: expect.stringMatching(/^(public|private)$/),
      });
      expect(message.result.supportedVersions).toContain(MODERN);
    });

    test('reports the cap of a new number, to which sends of the REST API count as well', async () => {
      const { token } = await addAgent();
      const { id: connectionId, qr } = (await service.api(token, 'POST', '/connections')).body.connection;
      await service.control('POST', `/connections/${connectionId}/scan`, { qr, phoneNumber: nextNumber() });
      const message = { connectionId, to: await addContact(), text: 'x' };
      const outcomes = new Set<string>();
      for (let sends = 0; sends < 500 && outcomes.size < 2; sends += 1) {
        outcomes.add(outcomeOf(await service.api(token, 'POST', '/messages', message)));
      }
      expect([...outcomes]).toEqual(['200', '429 warmup_limited']);
      const result = await callTool(service, modern, token, SEND, message);
      expect(refusalOf(result)).toMatch(/^warmup_limited: \w/);
    });

    test('returns typed results with its name, and how long a list is valid', async () => {
      const { token } = await addAgent();
      const list = (await callMethod(service, modern, token, 'tools/list')).message.result;
      expect(list.ttlMs).toBeGreaterThanOrEqual(0);
      expect(list.cacheScope).toMatch(/^(public|private)$/);
      for (const result of [list, await callTool(service, modern, token, LIST)]) {
        expect(result.resultType).toBe('complete');
        expect(result._meta['io.modelcontextprotocol/serverInfo']).toMatchObject({
          name: expect.any(String),
          version: expect.any(String),
        });
      }
    });

    test('refuses headers that are missing or differ from the body', async () => {
      const { token } = await addAgent();
      const { message, headers } = wrapped('tools/call', { name: LIST, arguments: {} });
      const without = (name: string) =>
        Object.fromEntries(Object.entries(headers).filter(([header]) => header !== name));
      const mismatches = [
        without('mcp-protocol-version'),
        without('mcp-method'),
        without('mcp-name'),
        { ...headers, 'mcp-method': 'tools/list' },
        { ...headers, 'mcp-method': 'TOOLS/CALL' },
        { ...headers, 'mcp-name': SEND },
        { ...headers, 'mcp-protocol-version': '2025-11-25' },
      ];
      for (const spoiled of mismatches) {
        const reply = await postMessage(service, token, message, spoiled);
        expect([reply.status, reply.message?.error?.code], JSON.stringify(spoiled)).toEqual([400, -32020]);
      }
      const encoded = `=?base64?${Buffer.from(LIST).toString('base64')}?=`;
      const decoded = await postMessage(service, token, message, { ...headers, 'mcp-name': encoded });
      expect(decoded.status).toBe(200);
    });

    test('refuses a request without its revision and the capabilities of the client', async () => {
      const { token } = await addAgent();
      const { message, headers } = wrapped('tools/list');
      for (const key of ['protocolVersion', 'clientCapabilities']) {
        const { [`io.modelcontextprotocol/${key}`]: _, ...meta } = message.params._meta;
        const spoiled = { ...message, params: { _meta: meta } };
        const reply = await postMessage(service, token, spoiled, headers);
        expect([reply.status, reply.message.error.code], key).toEqual([400, -32602]);
      }
      const future = JSON.parse(JSON.stringify(message).replaceAll(MODERN, '2099-01-01'));
      const reply = await postMessage(service, token, future, {
        ...headers,
        'mcp-protocol-version': '2099-01-01',
      });
      expect([reply.status, reply.message.error.code]).toEqual([400, -32022]);
      expect(reply.message.error.data).toMatchObject({ requested: '2099-01-01' });
      expect(reply.message.error.data.supported).toContain(MODERN);
    });
  });

  describe('as an HTTP resource', () => {
    test('allows pages of any origin to call, send the headers of both protocol generations, and read the challenge', async () => {
      const { authUrl, mcpUrl } = service.info;
      const asked = [
        'authorization',
        'content-type',
        'accept',
        'mcp-protocol-version',
        'mcp-method',
        'mcp-name',
      ];
      const origin = 'https://agent.example.com';
      const lists = (headers: Headers, name: string): string[] =>
        (headers.get(name) ?? '').toLowerCase().split(/\s*,\s*/);
      const preflight = await request(mcpUrl, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': asked.join(','),
        },
      });
      expect([200, 204]).toContain(preflight.status);
      expect(['*', origin]).toContain(preflight.headers.get('access-control-allow-origin'));
      expect(lists(preflight.headers, 'access-control-allow-methods')).toContain('post');
      expect(lists(preflight.headers, 'access-control-allow-headers')).toEqual(expect.arrayContaining(asked));
      expect(preflight.headers.get('access-control-allow-credentials')).toBeNull();
      const { token } = await addAgent();
      const replies = [
        await postMessage(service, null, {}, { origin }),
        await callMethod(service, ERAS[0] as Era, token, 'tools/list'),
      ];
      for (const { headers } of replies) {
        expect(['*', origin]).toContain(headers.get('access-control-allow-origin'));
        expect(lists(headers, 'access-control-expose-headers')).toEqual(
          expect.arrayContaining(['www-authenticate', 'mcp-session-id', 'mcp-protocol-version']),
        );
      }
      const { token_endpoint: tokens, revocation_endpoint: revocations, jwks_uri: keys } = visitor.metadata;
      const documents = ['oauth-authorization-server', 'oauth-protected-resource/api/mcp'];
      for (const url of [
        tokens,
        revocations,
        keys,
        ...documents.map((name) => `${authUrl}/.well-known/${name}`),
      ]) {
        const { status, headers } = await request(url, {
          method: 'OPTIONS',
          headers: {
            origin,
            'access-control-request-method': 'GET',
            'access-control-request-headers': 'mcp-protocol-version',
          },
        });
        expect([200, 204], url).toContain(status);
        expect(lists(headers, 'access-control-allow-headers'), url).toContain('mcp-protocol-version');
        const reply = await request(url, { headers: { origin } });
        expect(['*', origin], url).toContain(reply.headers.get('access-control-allow-origin'));
      }
    });
  });
});
