import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { SANDBOX_ENDPOINTS } from '../../src/contract/sandbox/endpoints.ts';
import type { EndpointDefinition } from '../../src/contract/schema/endpoint.ts';
import { ofFile } from '../support/of-file.ts';
import { startTestSandbox } from './fixture.ts';

const MIB = 1024 * 1024;

describe('the local control API', () => {
  const test = ofFile(() => startTestSandbox({ allowedHosts: ['sandbox.docker'] }));

  it.each(['127.0.0.1', 'localhost', 'LOCALHOST', '[::1]', 'sandbox.docker'])(
    'accepts the host %s',
    async (host) => {
      const { status } = await test.call('GET', '/clock', undefined, { host: `${host}:${test.port}` });
      expect(status).toBe(200);
    },
  );

  it.each([
    'evil.example.com',
    'localhost.evil.example.com',
    '127.0.0.1.nip.io',
    '169.254.169.254',
    'localhost@evil.example.com',
    'evil.example.com/localhost',
  ])('refuses the host %s', async (host) => {
    const { status, body } = await test.call('GET', '/info', undefined, { host });
    expect({ status, ...body }).toEqual({
      status: 403,
      error: 'foreign_origin',
      message: `\`Host: ${host}\` is not this machine. Use http://127.0.0.1:${test.port}, or localhost with the same port. To allow another name, list it in PLATFORM_ALLOWED_HOSTS.`,
    });
  });

  it('names only the beginning of a very long host', async () => {
    const { body } = await test.call('GET', '/info', undefined, { host: `${'a'.repeat(5_000)}.example` });
    expect(body.message).toMatch(/^`Host: a{100}…` is not this machine\. /);
  });

  it('accepts a page of its own origin', async () => {
    const origin = `http://127.0.0.1:${test.port}`;
    const { status } = await test.call('PUT', '/timing', { sendScale: 0 }, { origin });
    expect(status).toBe(200);
  });

  it.each([
    'https://evil.example.com',
    'http://localhost:3000',
    'http://127.0.0.1',
    'null',
    'http://127.0.0.1.evil.example.com',
  ])('refuses the origin %s, for reads and for writes', async (origin) => {
    for (const [method, path] of [
      ['GET', '/info'],
      ['POST', '/reset'],
    ] as const) {
      const { status, body } = await test.call(method, path, undefined, { origin });
      expect({ status, error: body.error }).toEqual({ status: 403, error: 'foreign_origin' });
      expect(body.message).toContain(`\`Origin: ${origin}\` is not this machine.`);
    }
  });

  it.each(['cross-site', 'same-site'])('refuses what a browser marks as %s', async (site) => {
    const { status } = await test.call('POST', '/reset', undefined, { 'sec-fetch-site': site });
    expect(status).toBe(403);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', 'application/jsonp'])(
    'does not accept %s',
    async (type) => {
      const { status, body } = await test.call('PUT', '/timing', '{"sendScale":0}', { 'content-type': type });
      expect({ status, error: body.error }).toEqual({ status: 415, error: 'unsupported_media_type' });
    },
  );

  it('refuses a form without fields as well as one with fields', async () => {
    const { status } = await test.call('POST', '/clock/freeze', undefined, {
      'content-type': 'application/x-www-form-urlencoded',
    });
    expect(status).toBe(415);
  });

  it('accepts JSON with a charset, and a write without a body and a type', async () => {
    const json = { 'content-type': 'application/json; charset=utf-8' };
    expect((await test.call('PUT', '/timing', '{"sendScale":0}', json)).status).toBe(200);
    const short = { 'content-type': 'application/json;charset="UTF8"' };
    expect((await test.call('PUT', '/timing', '{"sendScale":0}', short)).status).toBe(200);
    const foreign = { 'content-type': 'application/json; charset=latin1' };
    expect((await test.call('PUT', '/timing', '{"sendScale":0}', foreign)).body).toMatchObject({
      message: 'The body must be JSON in UTF-8, but its charset is latin1.',
    });
    expect((await test.call('POST', '/clock/run')).status).toBe(200);
  });
});

describe('the control API answers', () => {
  const test = ofFile(() => startTestSandbox());

  it.each(['/sandbox/v1/nothing', '/api/v1/connections', '/v1/messages', '/index.html'])(
    '404 for %s, with the addresses that exist',
    async (path) => {
      const answer = await fetch(`http://127.0.0.1:${test.port}${path}`);
      expect([answer.status, await answer.json()]).toEqual([
        404,
        {
          error: 'not_found',
          message:
            `This address does not exist. The calls of the sandbox are under http://127.0.0.1:${test.port}/sandbox/v1 ` +
            `(openapi.json there lists them), those of the service under ${test.service.origin}/api/v1 ` +
            `or, without a key, under http://127.0.0.1:${test.port}/service, ` +
            `those of an attached connector under http://127.0.0.1:${test.port}/connector.`,
        },
      ]);
    },
  );

  it('404 below /connector if none is attached, and says so', async () => {
    const answer = await fetch(`http://127.0.0.1:${test.port}/connector/v1/messages`);
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({
      error: 'not_found',
      message: expect.stringMatching(/^No connector is attached: `npm run platform` runs none\./),
    });
  });

  it.each([
    ['/workspaces', { kind: 'standalone', slot: 3 }, 'slot', "'slot': is not a known field."],
    ['/workspaces', { kinds: 'standalone' }, 'kind', "'kind': is missing. 'kinds': is not a known field."],
    ['/workspaces', { kind: 'standalone', a: 1, b: 2 }, 'a', "'a', 'b': is not a known field."],
    ['/reset', { hard: true }, 'hard', "'hard': is not a known field."],
    [
      '/contacts/447700900201/messages',
      { connection: 'c', txt: 'x' },
      'connectionId',
      "'connectionId': is missing. 'connection', 'txt': is not a known field.",
    ],
  ])('400 for POST %s %j, with the unknown fields', async (path, sent, field, message) => {
    const { status, body } = await test.call('POST', path, sent);
    expect({ status, body }).toEqual({ status: 400, body: { error: 'invalid_request', field, message } });
  });

  it('400 for an unknown field deep in a rule, with the one that is missing', async () => {
    const rule = { id: 'a', match: { surface: 'api' }, action: { type: 'status', status: 429 } };
    const { body } = await test.call('PUT', '/faults', { rules: [rule] });
    expect(body).toEqual({
      error: 'invalid_request',
      field: 'rules.0.action.code',
      message: "'rules.0.action.code': is missing. 'rules.0.action.status': is not a known field.",
    });
  });

  it('409 for a number of another connection of the workspace, for all but one of 4 concurrent requests; 201 in another workspace', async () => {
    const { workspaceId } = test.sandbox.seed;
    const number = { provider: 'qr', phoneNumber: '447700900177' };
    const add = (id: string) => test.call('POST', `/workspaces/${id}/connections`, number);
    const answers = await Promise.all([workspaceId, workspaceId, workspaceId, workspaceId].map(add));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409]);
    expect(answers.find(({ status }) => status === 409)?.body).toEqual({
      error: 'wrong_state',
      message: 'Another connection of the workspace has this number.',
    });
    const { body } = await test.call('POST', '/workspaces', { kind: 'crm_portal' });
    expect((await add(body.workspace.id)).status).toBe(201);
  });

  it('400 for an invalid webhook of an app, with the reason', async () => {
    const app = { name: 'CRM', redirectUris: ['http://127.0.0.1/cb'], scopes: ['messaging.read'] };
    const { body } = await test.call('POST', '/oauth-apps', { ...app, webhookUrl: 'https://localhost/' });
    expect(body).toEqual({
      error: 'invalid_webhook',
      message:
        'The webhook URL is not an HTTPS URL on a public host, or no webhook is set yet. Here the host is localhost.',
    });
  });

  it('405 with the methods that exist', async () => {
    const { status, headers, body } = await test.call('PATCH', '/faults', {});
    expect({ status, error: body.error }).toEqual({ status: 405, error: 'method_not_allowed' });
    expect(headers['allow']).toBe('DELETE, GET, POST, PUT');
  });

  it('400 for invalid JSON', async () => {
    const { status, body } = await test.call('PUT', '/timing', '{"sendScale":');
    expect({ status, error: body.error }).toEqual({ status: 400, error: 'invalid_request' });
  });

  it.each([
    ['GET', '/clock', undefined, 200],
    ['GET', '/nothing', undefined, 404],
    ['PATCH', '/faults', '{}', 405],
    ['PUT', '/timing', '{', 400],
    ['PUT', '/timing', 'x'.repeat(21 * MIB), 413],
  ])('%s %s with headers that prevent content sniffing', async (method, path, body, status) => {
    const answer = await test.call(method, path, body);
    expect(answer.status).toBe(status);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
  });

  it('200 for a thousand rules with line breaks and indents', async () => {
    const rules = Array.from({ length: 1_000 }, (_, index) => ({
      id: `rule-${index}`,
      match: { surface: 'webhook', event: 'message.received' },
      action: { type: 'delay', ms: 1_000 },
      probability: 0.5,
      per: 'event',
    }));
    const { status } = await test.call('PUT', '/faults', JSON.stringify({ rules }, null, 2));
    expect(status).toBe(200);
    await test.call('DELETE', '/faults');
  });

  it.each([
    ['gzip', 'not gzip'],
    ['gzip', gzipSync('{"sendScale":0}').subarray(0, 12)],
    ['deflate', 'not deflated'],
    ['br', 'not brotli'],
    ['zstd', 'not zstd'],
    ['gzip, gzip', gzipSync('{"sendScale":0}')],
    ['x-unknown', '{"sendScale":0}'],
  ])(
    '400 for a body that is not encoded as %s says, at every address that accepts one',
    async (encoding, bytes) => {
      for (const { method, path, body } of Object.values<EndpointDefinition>(SANDBOX_ENDPOINTS)) {
        if (body === undefined) continue;
        const answer = await fetch(
          `http://127.0.0.1:${test.port}/sandbox/v1${path.replace(/\{\w+\}/g, 'x')}`,
          {
            method,
            headers: { 'content-type': 'application/json', 'content-encoding': encoding },
            body: bytes,
          },
        );
        expect([path, answer.status, await answer.json()]).toMatchObject([
          path,
          400,
          { error: 'invalid_request' },
        ]);
      }
    },
  );

  it('normally to a body that is encoded as its headers say', async () => {
    const answer = await fetch(`http://127.0.0.1:${test.port}/sandbox/v1/timing`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: gzipSync('{"sendScale":0}'),
    });
    expect(answer.status).toBe(200);
  });

  it('400 for an address that is not encoded correctly', async () => {
    const { status, body } = await test.call('GET', '/contacts/%zz/messages');
    expect({ status, error: body.error }).toEqual({ status: 400, error: 'invalid_request' });
  });

  it.each([
    ['PUT', '/timing', {}, 'sendScale'],
    ['PUT', '/timing', { sendScale: 1, pace: 2 }, 'pace'],
    ['POST', '/clock/advance', { ms: -1 }, 'ms'],
    ['POST', '/clock/advance', { to: '2001-01-01T00:00:00Z' }, 'to'],
    ['GET', '/clock/due?limit=many', undefined, 'limit'],
    ['GET', '/deliveries?limit=0', undefined, 'limit'],
    ['GET', '/deliveries?limit=1&limit=2', undefined, 'limit'],
    ['GET', '/deliveries?cursor=!', undefined, 'cursor'],
    ['GET', '/ledger?after=-1', undefined, 'after'],
    ['GET', '/ledger?since=1', undefined, 'since'],
    ['PUT', '/contacts/+49170', { onNetwork: true }, 'phone'],
    ['POST', '/contacts/491700000001/messages', { connectionId: 'c1' }, 'text'],
  ])('400 for %s %s with the name of the field', async (method, path, body, field) => {
    const answer = await test.call(method, path, body);
    expect(answer.status).toBe(400);
    expect(answer.body).toEqual({ error: 'invalid_request', message: expect.any(String), field });
    expect(answer.body.message).toContain(`'${field}'`);
  });

  it('with an OpenAPI document of exactly the addresses that exist', async () => {
    const { body } = await test.call('GET', '/openapi.json');
    expect(body.openapi).toMatch(/^3\.1/);
    expect(body.servers).toEqual([{ url: `http://127.0.0.1:${test.port}/sandbox/v1` }]);
    const described = Object.entries<object>(body.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const served: string[] = [];
    const paths = new Set(Object.values(SANDBOX_ENDPOINTS).map(({ path }) => path));
    for (const path of paths) {
      // No path takes this method; one that exists says which it takes.
      const { status, headers } = await test.call('TRACE', path.replace(/\{\w+\}/g, 'x'));
      expect([404, 405]).toContain(status);
      const allowed = status === 405 ? String(headers['allow']).split(', ') : [];
      for (const method of allowed) served.push(`${method} ${path}`);
    }
    expect(described.sort()).toEqual(served.sort());
  });

  it('only this machine, and only JSON, at every address', async () => {
    for (const { method, path } of Object.values<EndpointDefinition>(SANDBOX_ENDPOINTS)) {
      const url = path.replace(/\{\w+\}/g, 'x');
      const status = async (headers: Record<string, string>, body?: string): Promise<number> =>
        (await test.call(method, url, body, headers)).status;
      expect(await status({ host: 'evil.example.com' }), path).toBe(403);
      expect(await status({ origin: 'https://evil.example.com' }), path).toBe(403);
      if (method === 'GET' || method === 'DELETE') continue;
      expect(await status({ 'content-type': 'text/plain' }, '{}'), path).toBe(415);
    }
  });
});
