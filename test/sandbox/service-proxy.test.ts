import { beforeEach, describe, expect, it } from 'vitest';
import { askPort } from '../support/ask-as.ts';
import { ofFile } from '../support/of-file.ts';
import { startTestSandbox } from './fixture.ts';

const test = ofFile(startTestSandbox);

async function call(
  path: string,
  { body, headers, ...more }: { method?: string; headers?: Record<string, string>; body?: object } = {},
) {
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const { text, ...answer } = await askPort(test.port, `/service${path}`, {
    ...more,
    headers: { ...type, ...headers },
    body: body && JSON.stringify(body),
  });
  return { ...answer, body: JSON.parse(text) };
}

const calls = async (query = '') => (await test.call('GET', `/calls${query}`)).body.entries;

describe('the proxy at /service on the sandbox', () => {
  beforeEach(() => test.ports.calls.clear());

  it('calls the REST API with the key of the initial workspace', async () => {
    const { status, body } = await call('/connections', {
      method: 'POST',
      body: { label: 'By the page' },
      headers: { 'idempotency-key': 'one' },
    });
    expect(status).toBe(201);
    expect(body.connection).toMatchObject({ status: 'connecting', qr: expect.stringMatching(/^data:image/) });
    const again = await call('/connections', {
      method: 'POST',
      body: { label: 'By the page' },
      headers: { 'idempotency-key': 'one' },
    });
    expect(again).toMatchObject({ status: 200, headers: { 'idempotency-replayed': 'true' } });
    expect((await call(`/connections/${body.connection.id}`, { method: 'DELETE' })).body).toEqual({
      ok: true,
    });

    const entries = await calls();
    const { workspaceId } = test.sandbox.seed;
    expect(entries).toMatchObject([
      { method: 'DELETE', path: `/connections/${body.connection.id}`, workspaceId, status: 200 },
      { method: 'POST', path: '/connections', workspaceId, status: 200 },
      { method: 'POST', path: '/connections', workspaceId, status: 201 },
    ]);
    await test.api('GET', '/account');
    const [{ credential }] = await calls();
    for (const entry of entries) expect(entry.credential).toBe(credential);
  });

  it('ignores the credential of the caller, and forwards no address that the caller claims to have', async () => {
    const answer = await call('/account', {
      headers: { authorization: 'Bearer msk_nobody', 'x-forwarded-for': '192.0.2.1' },
    });
    expect(answer).toMatchObject({ status: 200, body: { connections: { total: 4 } } });
  });

  it('uses a key of another workspace, always the same one, if the header names that workspace', async () => {
    const { body: made } = await test.call('POST', '/workspaces', { kind: 'standalone' });
    const { id } = made.workspace;
    const headers = { 'x-workspace-id': id };
    const answers = await Promise.all([1, 2, 3].map(() => call('/account', { headers })));
    for (const { status, body } of answers) {
      expect([status, body.connections.total]).toEqual([200, 0]);
    }
    const entries = await calls(`?workspaceId=${id}`);
    expect(entries).toHaveLength(3);
    expect(new Set(entries.map(({ credential }: { credential: string }) => credential)).size).toBe(1);
  });

  it('forgets the keys of workspaces that a reset has deleted', async () => {
    const { body: made } = await test.call('POST', '/workspaces', { kind: 'standalone' });
    const headers = { 'x-workspace-id': made.workspace.id };
    expect((await call('/account', { headers })).status).toBe(200);
    await test.call('POST', '/reset');
    expect(await call('/account', { headers })).toMatchObject({ status: 404, body: { error: 'not_found' } });
    expect((await call('/account')).status).toBe(200);
  });

  it.each([
    '/../../oauth/authorize',
    '/%2e%2e/%2e%2e/.well-known/oauth-authorization-server',
    '/connections/..',
  ])('refuses %s, which leads out of the REST API', async (path) => {
    expect(await call(path)).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    expect(await calls()).toEqual([]);
  });

  it.each(['//example.com/account', '/http://example.com/account', '/@example.com/account'])(
    'treats %s as a path of the service, which does not exist',
    async (path) => {
      expect(await call(path)).toMatchObject({ status: 404, body: { error: 'not_found' } });
    },
  );

  it('refuses a page of another origin, and a write that is not JSON', async () => {
    for (const [headers, status, error] of [
      [{ origin: 'https://evil.example.com' }, 403, 'foreign_origin'],
      [{ host: 'evil.example.com' }, 403, 'foreign_origin'],
      [{ 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
    ] as const) {
      const answer = await call('/messages', { method: 'POST', headers });
      expect(answer).toMatchObject({ status, body: { error } });
    }
    expect(await calls()).toEqual([]);
  });

  it('is subject to the faults of the API: a connection that is reset has no answer', async () => {
    const match = { surface: 'api', path: '/account' };
    await test.call('PUT', '/faults', { rules: [{ id: 'r', match, action: { type: 'reset' }, first: 1 }] });
    expect(await call('/account')).toMatchObject({ status: 502, body: { error: 'service_unreachable' } });
    expect((await call('/account')).status).toBe(200);
  });

  it('is refused like any other caller if its key is restricted', async () => {
    const [{ credential }] = await call('/account').then(() => calls());
    await test.call('PATCH', `/api-keys/${credential}`, { scopes: ['messaging.send'] });
    expect(await call('/account')).toMatchObject({ status: 403, body: { error: 'insufficient_scope' } });
    const [{ trace }] = await calls();
    expect(trace.at(-1)).toMatchObject({ check: 'scope', passed: false });
    await test.call('POST', '/reset');
  });
});
