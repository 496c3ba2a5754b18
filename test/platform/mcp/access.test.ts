import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { proves } from '../../support/proves.ts';
import { exchangeRaw } from '../../support/raw-exchange.ts';
import { type TestApp, worldOfFile } from '../oauth/oauth-fixture.ts';
import { callTool, MODERN, post, request, type ToolReply } from './tool-fixture.ts';

const world = worldOfFile();
let app: TestApp;
let origin: string;
let metadataUrl: string;
beforeAll(async () => {
  app = await world.register();
  ({ origin } = world.service);
  metadataUrl = `${origin}/.well-known/oauth-protected-resource/api/mcp`;
});

const obtain = async (fields: Readonly<Record<string, string>> = {}, of = app): Promise<string> =>
  (await world.obtainTokens(of, fields)).access;
const ask = (token: string | null, method = 'tools/list', params: object = {}): Promise<ToolReply> =>
  post(origin, token, request(method, { ...params }).body);
const revokeNewest = async (): Promise<void> => {
  const { grants } = world.service.platform.oauth;
  const [newest] = await grants.list({ limit: 1 });
  await grants.revoke(newest?.id ?? '');
};

describe('the guard of the tools', () => {
  it('accepts only valid tokens for the tools', async () => {
    proves('service.tools.offered', 'choice.tools.credential');
    const { platform } = world.service;
    const good = await obtain({ resource: `${origin}/api/mcp` });
    const other = await world.register();
    const refused: [string, string | null][] = [
      ['nothing', null],
      ['no token', 'x'],
      ['an API key', world.key],
      ['a token of another signature', `${good.slice(0, -8)}AAAAAAAA`],
      ['a token for REST alone', await obtain({ resource: `${origin}/api/v1` })],
    ];
    const revoked = await obtain();
    await revokeNewest();
    refused.push(['a token of a revoked grant', revoked]);
    refused.push(['a token of a disabled app', await obtain({}, other)]);
    await platform.oauth.apps.setEnabled(other.clientId, false);
    expect((await ask(good)).status).toBe(200);
    expect((await ask(await obtain())).status).toBe(200);
    for (const [what, token] of refused) {
      const { status, headers, body } = await ask(token);
      const code = token === null ? 'invalid_key' : 'invalid_token';
      expect([what, status, body]).toEqual([what, 401, { error: code }]);
      expect(headers.get('www-authenticate')).toBe(
        `Bearer error="invalid_token", scope="messaging.read messaging.send", resource_metadata="${metadataUrl}"`,
      );
    }
    const rest = await world.service.call('GET', '/connections', { key: good });
    expect([rest.status, rest.body]).toEqual([401, { error: 'invalid_token' }]);
    await platform.time.advance({ ms: 15 * 60_000 });
    expect((await ask(good)).status).toBe(401);
  });

  it('lists a missing scope together with those that the token has', async () => {
    proves('scopes.missing', 'choice.tools.scope');
    const [reads, sends, neither] = [
      await obtain({ scope: 'messaging.read' }),
      await obtain({ scope: 'messaging.send messaging.manage' }),
      await obtain({ scope: 'messaging.events' }),
    ];
    const cases = [
      [reads, 'send_messaging_message', 'messaging.read messaging.send'],
      [sends, 'list_messaging_connections', 'messaging.send messaging.manage messaging.read'],
      [sends, 'read_messaging_messages', 'messaging.send messaging.manage messaging.read'],
      [neither, 'send_messaging_message', 'messaging.events messaging.send'],
    ] as const;
    for (const [token, name, scopes] of cases) {
      for (const modern of [false, true]) {
        const asked = request('tools/call', { name, arguments: {} }, { modern });
        const { status, headers, body } = await post(origin, token, asked.body, asked.headers);
        expect([status, body]).toEqual([403, { error: 'insufficient_scope' }]);
        expect(headers.get('www-authenticate')).toBe(
          `Bearer error="insufficient_scope", scope="${scopes}", resource_metadata="${metadataUrl}"`,
        );
      }
    }
    // What needs no tool needs no scope: a client must be able to see what it could ask for.
    expect((await ask(neither)).status).toBe(200);
    expect((await callTool(origin, reads, 'list_messaging_connections')).isError).toBe(false);
  });

  it('applies a narrowed grant to the next call', async () => {
    const token = await obtain();
    await callTool(origin, token, 'list_messaging_connections');
    await world.service.database.query(
      "UPDATE platform.oauth_grants SET scopes = '{messaging.send}', connection_ids = '{}'",
    );
    expect((await ask(token, 'tools/call', { name: 'list_messaging_connections' })).status).toBe(403);
    const given = { connectionId: world.connectionId, to: '4915100000001', text: 'hello' };
    const refused = await callTool(origin, token, 'send_messaging_message', given);
    expect(refused.text).toMatch(/^not_found: /);
  });
});

describe('an unreadable request', () => {
  const JSON_RPC = { jsonrpc: '2.0', id: 1 };

  it('is refused without a server error', async () => {
    const token = await obtain();
    const deep = (levels: number): string => `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`;
    const bodies: [string, number][] = [
      ['', 400],
      ['{', 400],
      ['null', 400],
      ['7', 400],
      ['"x"', 400],
      ['{}', 400],
      ['[]', 400],
      [JSON.stringify([{ ...JSON_RPC, method: 'ping' }]), 400],
      [deep(100), 400],
      ['\u0000', 400],
      [JSON.stringify({ ...JSON_RPC, method: 7 }), 400],
      [JSON.stringify({ jsonrpc: '1.0', id: 1, method: 'ping' }), 400],
      [`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"__proto__":{"name":"x"}}}`, 200],
      [JSON.stringify({ ...JSON_RPC, method: 'tools/call' }), 200],
      [JSON.stringify({ ...JSON_RPC, method: 'tools/call', params: { name: { a: 1 } } }), 200],
      [JSON.stringify({ ...JSON_RPC, method: 'tools/call', params: { name: '__proto__' } }), 200],
      [JSON.stringify({ ...JSON_RPC, method: 'nothing/known' }), 200],
      [JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }), 202],
      [JSON.stringify({ jsonrpc: '2.0', id: 1, result: {} }), 202],
      [JSON.stringify({ ...JSON_RPC, method: 'ping', pad: 'x'.repeat(300_000) }), 413],
    ];
    for (const [body, expected] of bodies) {
      const { status } = await post(origin, token, body);
      expect([body.slice(0, 60), status]).toEqual([body.slice(0, 60), expected]);
    }
    const refused = async (body: string): Promise<unknown> => (await post(origin, token, body)).body;
    expect(await refused('{')).toEqual({
      jsonrpc: '2.0',
      error: { code: -32_700, message: 'Parse error: the body must be JSON' },
    });
    expect(await refused('[]')).toEqual({
      jsonrpc: '2.0',
      error: { code: -32_600, message: 'Invalid request: one message per request; batches are not accepted' },
    });
  });

  it('is refused with any headers', async () => {
    const token = await obtain();
    const { body } = request('tools/list');
    const answers = async (headers: Readonly<Record<string, string>>): Promise<number> =>
      (await post(origin, token, body, headers)).status;
    expect(await answers({ 'content-type': 'text/plain' })).toBe(415);
    expect(await answers({ accept: 'application/json' })).toBe(406);
    expect(await answers({ 'mcp-protocol-version': '1999-01-01' })).toBe(400);
    expect(await answers({ 'mcp-protocol-version': '2026-07-28' })).toBe(400);
    expect(await answers({ 'mcp-session-id': 'made up' })).toBe(200);
    expect(await answers({ 'content-encoding': 'gzip' })).toBe(400);
    const packed = await fetch(`${origin}/api/mcp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-encoding': 'gzip' },
      body: gzipSync(body),
    });
    expect(packed.status).toBe(400);
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'HEAD']) {
      const send = (headers: Record<string, string>) => fetch(`${origin}/api/mcp`, { method, headers });
      const known = await send({ authorization: `Bearer ${token}` });
      expect([method, known.status, known.headers.get('allow')]).toEqual([method, 405, 'POST']);
      // Who asks without a credential learns where to get one.
      const unknown = await send({});
      expect([method, unknown.status]).toEqual([method, 401]);
      expect(unknown.headers.get('www-authenticate')).toContain(metadataUrl);
    }
  });

  it('of the stateless revision is refused if a header is missing or differs from its body', async () => {
    const token = await obtain();
    const name = 'list_messaging_connections';
    const { body, headers } = request('tools/call', { name, arguments: {} }, { modern: true });
    const without = (gone: string) =>
      Object.fromEntries(Object.entries(headers).filter(([header]) => header !== gone));
    for (const spoiled of [
      without('mcp-protocol-version'),
      without('mcp-method'),
      without('mcp-name'),
      { ...headers, 'mcp-method': 'tools/list' },
      { ...headers, 'mcp-method': 'TOOLS/CALL' },
      { ...headers, 'mcp-name': 'send_messaging_message' },
      { ...headers, 'mcp-protocol-version': '2025-11-25' },
    ]) {
      const { status, messages } = await post(origin, token, body, spoiled);
      expect([spoiled, status, messages]).toMatchObject([spoiled, 400, [{ error: { code: -32_020 } }]]);
    }
    const encoded = `=?base64?${Buffer.from(name).toString('base64')}?=`;
    expect((await post(origin, token, body, { ...headers, 'mcp-name': encoded })).status).toBe(200);
  });

  it('of the stateless revision is refused without its revision or capabilities, and with an unknown revision', async () => {
    const token = await obtain();
    const { body, headers } = request('tools/list', {}, { modern: true });
    for (const key of ['protocolVersion', 'clientCapabilities']) {
      const spoiled = body.replace(`io.modelcontextprotocol/${key}`, 'io.modelcontextprotocol/other');
      const { status, messages } = await post(origin, token, spoiled, headers);
      expect([key, status, messages]).toMatchObject([key, 400, [{ error: { code: -32_602 } }]]);
    }
    const future = { ...headers, 'mcp-protocol-version': '2099-01-01' };
    const { status, messages } = await post(origin, token, body.replaceAll(MODERN, '2099-01-01'), future);
    const data = { requested: '2099-01-01', supported: expect.arrayContaining([MODERN]) };
    expect([status, messages]).toMatchObject([400, [{ error: { code: -32_022, data } }]]);
  });

  it('is refused if its host is invalid', async () => {
    const token = await obtain();
    const { body } = request('tools/list');
    const head = [
      'POST /api/mcp HTTP/1.1',
      'Host: a<b>|c',
      `Authorization: Bearer ${token}`,
      'Content-Type: application/json',
      'Accept: application/json, text/event-stream',
      `Content-Length: ${body.length}`,
      'Connection: close',
    ];
    const { statuses } = await exchangeRaw(world.service.port, `${head.join('\r\n')}\r\n\r\n${body}`);
    expect(statuses).toEqual([400]);
  });
});

describe('the metadata for clients', () => {
  it('contains the resource, the issuer of its tokens, and the scopes to request', async () => {
    for (const path of [
      '/.well-known/oauth-protected-resource/api/mcp',
      '/.well-known/oauth-protected-resource',
    ]) {
      const { status, body, headers } = await world.send('GET', path);
      expect([status, body]).toEqual([
        200,
        {
          resource: `${origin}/api/mcp`,
          authorization_servers: [origin],
          scopes_supported: ['messaging.read', 'messaging.send'],
          bearer_methods_supported: ['header'],
          resource_name: 'Messaging tools',
        },
      ]);
      expect(headers.get('access-control-allow-origin')).toBe('*');
      expect((await world.send('POST', path)).status).toBe(405);
    }
    expect((await world.send('GET', '/.well-known/oauth-protected-resource/api')).status).toBe(404);
  });

  it('can be read by web pages, after a preflight request', async () => {
    const preflight = (path: string, page: string) =>
      world.send('OPTIONS', path, {
        headers: {
          origin: page,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization, content-type, mcp-protocol-version',
        },
      });
    const lists = (headers: Headers, name: string): string[] =>
      (headers.get(name) ?? '').toLowerCase().split(/\s*,\s*/);
    for (const path of [
      '/api/mcp',
      '/.well-known/oauth-authorization-server',
      '/.well-known/oauth-protected-resource/api/mcp',
      '/oauth/token',
      '/oauth/revoke',
      '/oauth/jwks',
    ]) {
      const { status, headers } = await preflight(path, 'https://client.example');
      expect([path, status]).toEqual([path, 204]);
      expect(headers.get('access-control-allow-origin')).toBe('*');
      expect(headers.get('access-control-allow-credentials')).toBeNull();
      expect(headers.get('access-control-allow-methods')).toContain('POST');
      expect(lists(headers, 'access-control-allow-headers')).toEqual(
        expect.arrayContaining(['authorization', 'content-type', 'mcp-protocol-version']),
      );
      const reply = await world.send('GET', path, { headers: { origin: 'https://client.example' } });
      expect([path, reply.headers.get('access-control-allow-origin')]).toEqual([path, '*']);
    }
    const { headers: allowed } = await preflight('/api/mcp', 'https://client.example');
    expect(lists(allowed, 'access-control-allow-headers')).toEqual(
      expect.arrayContaining(['accept', 'mcp-method', 'mcp-name']),
    );
    const { body } = request('tools/list');
    for (const token of [null, await obtain()]) {
      const { headers } = await post(origin, token, body, { origin: 'https://client.example' });
      expect(headers.get('access-control-allow-origin')).toBe('*');
      expect(headers.get('access-control-expose-headers')).toBe(
        'WWW-Authenticate, Mcp-Session-Id, Mcp-Protocol-Version',
      );
    }
    for (const path of ['/oauth/authorize', '/oauth/consent', '/api/v1/connections']) {
      const { headers } = await preflight(path, 'https://client.example');
      expect(headers.get('access-control-allow-origin')).toBeNull();
    }
  });

  it('is not available to pages whose name could be rebound', async () => {
    proves('choice.tools.origin');
    const token = await obtain();
    const { body } = request('tools/list');
    const from = async (page: string): Promise<number> =>
      (await post(origin, token, body, { origin: page })).status;
    for (const page of ['https://client.example', 'http://localhost:6274', 'http://127.0.0.1:3000', origin]) {
      expect([page, await from(page)]).toEqual([page, 200]);
    }
    for (const page of [
      'http://rebound.example',
      'http://10.0.0.7',
      'http://localhost.evil.example',
      'null',
      'x',
    ]) {
      expect([page, await from(page)]).toEqual([page, 403]);
    }
  });
});
