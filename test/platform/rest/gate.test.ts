import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { errorBody } from '../../../src/contract/service/errors.ts';
import { readExactly, seedWorkspace, startTestPlatform, type TestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';
import { exchangeRaw } from '../../support/raw-exchange.ts';

describe('gate', () => {
  let service: TestPlatform;
  let seeded: Awaited<ReturnType<typeof seedWorkspace>>;
  beforeAll(async () => {
    service = await startTestPlatform();
    seeded = await seedWorkspace(service);
  });
  afterAll(() => service.close());

  const keyWith = async (
    access: Parameters<TestPlatform['platform']['apiKeys']['create']>[1],
  ): Promise<string> => (await service.platform.apiKeys.create(seeded.workspaceId, access)).key;

  async function refused(call: ReturnType<TestPlatform['call']>, status: number, code: string) {
    const answer = await call;
    expect(answer.status).toBe(status);
    expect(readExactly(errorBody, answer.body).error).toBe(code);
    return answer;
  }

  const raw = async (request: string): Promise<string> => (await exchangeRaw(service.port, request)).received;

  test('refuses another scheme, and accepts the scheme in any case', async () => {
    const { key } = seeded;
    const as = (authorization: string) => service.call('GET', '/connections', { headers: { authorization } });
    await refused(as(`Basic ${key}`), 401, 'invalid_key');
    await refused(as(key), 401, 'invalid_key');
    expect((await as(`bearer ${key}`)).status).toBe(200);
  });

  test('refuses two credentials, even if both are valid', async () => {
    const line = `Authorization: Bearer ${seeded.key}\r\n`;
    const request = (lines: string) =>
      `GET /api/v1/connections HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${lines}\r\n`;
    expect(await raw(request(line))).toContain('200 OK');
    const twice = await raw(request(line + line));
    expect(twice).toContain('401 Unauthorized');
    expect(twice).toContain('invalid_key');
  });

  test('a revoked key is unknown on the next call', async () => {
    proves('auth.key.revoked', 'auth.key.live-revoked', 'errors.invalid_key');
    const { id, key } = await service.platform.apiKeys.create(seeded.workspaceId);
    expect((await service.call('GET', '/connections', { key })).status).toBe(200);
    await service.platform.apiKeys.revoke(id);
    await refused(service.call('GET', '/connections', { key }), 401, 'invalid_key');
  });

  test('a narrowed scope applies to the next call', async () => {
    proves('auth.key.live-scopes');
    const { id, key } = await service.platform.apiKeys.create(seeded.workspaceId);
    await service.platform.apiKeys.change(id, { scopes: ['messaging.send'] });
    await refused(service.call('GET', '/connections', { key }), 403, 'insufficient_scope');
  });

  test('a narrowed allowlist or connection list applies to the next call, and so does its removal', async () => {
    proves('auth.key.live-connections', 'auth.key.allowlist', 'auth.key.off-list');
    const { apiKeys } = service.platform;
    const { id, key } = await apiKeys.create(seeded.workspaceId);
    const path = `/connections/${seeded.connectionId}`;
    const ask = async (): Promise<number> => (await service.call('GET', path, { key })).status;
    expect(await ask()).toBe(200);
    await apiKeys.change(id, { ipAllowlist: ['203.0.113.7'] });
    expect(await ask()).toBe(403);
    await apiKeys.change(id, { ipAllowlist: null, connectionIds: ['c1'] });
    expect(await ask()).toBe(404);
    await apiKeys.change(id, { connectionIds: null });
    expect(await ask()).toBe(200);
  });

  test('stores no key, only its hash', async () => {
    proves('auth.key.hashed');
    const { key } = await service.platform.apiKeys.create(seeded.workspaceId);
    const rows = await service.database.query<{ row: string }>(
      'SELECT api_keys::text AS row FROM platform.api_keys',
    );
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.filter(({ row }) => row.includes(key.slice(4)))).toEqual([]);
  });

  test('refuses an address that is not on the allowlist with a challenge, and accepts one that is', async () => {
    proves('auth.key.off-list', 'errors.ip_not_allowed', 'auth.challenge', 'auth.key.no-allowlist');
    const outside = await keyWith({ ipAllowlist: ['203.0.113.0/24'] });
    const answer = await refused(
      service.call('GET', '/connections', { key: outside }),
      403,
      'ip_not_allowed',
    );
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer error="/);
    const inside = await keyWith({ ipAllowlist: ['203.0.113.0/24', '127.0.0.1'] });
    expect((await service.call('GET', '/connections', { key: inside })).status).toBe(200);
  });

  test('does not believe X-Forwarded-For', async () => {
    proves('choice.forwarded-for');
    const key = await keyWith({ ipAllowlist: ['203.0.113.7'] });
    const headers = { 'x-forwarded-for': '203.0.113.7', forwarded: 'for=203.0.113.7' };
    await refused(service.call('GET', '/connections', { key, headers }), 403, 'ip_not_allowed');
  });

  test('a refusal is JSON with its code, and beside invalid_request the field and a hint, and nothing else', async () => {
    proves('errors.body.code', 'errors.body.field', 'errors.body.hint', 'errors.body.no-more');
    proves('endpoints.json');
    const { key } = seeded;
    const answers = [
      await service.call('GET', '/connections/unknown', { key }),
      await service.call('POST', '/messages', { key, body: { connectionId: 'x', to: '447700900201' } }),
      await service.call('PUT', '/webhook', { key, body: { url: 'http://crm.example.com' } }),
      await service.call('GET', '/messages?limit=0', { key }),
    ];
    expect(answers.map(({ body }) => body)).toEqual([
      { error: 'not_found' },
      { error: 'text_or_media' },
      { error: 'invalid_webhook' },
      { error: 'invalid_request', field: 'limit', hint: expect.any(String) },
    ]);
    for (const { headers } of [...answers, await service.call('GET', '/connections', { key })]) {
      expect(headers.get('content-type')).toMatch(/^application\/json(?:;|$)/);
    }
  });

  test('answers { error } outside the API too', async () => {
    const answer = await fetch(`${service.origin}/somewhere`);
    expect([answer.status, await answer.json()]).toEqual([404, { error: 'not_found' }]);
  });

  test('accepts JSON with any content type', async () => {
    const body = JSON.stringify({ connectionId: seeded.connectionId, to: '4915100000000', text: 'hello' });
    const answer = await service.call('POST', '/messages', {
      key: seeded.key,
      body,
      headers: { 'content-type': 'text/plain' },
    });
    expect(answer.status).toBe(200);
  });

  test('refuses a body that announces too much before it is sent', async () => {
    proves('choice.body.too-large');
    const answer = await raw(
      `PUT /api/v1/webhook HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${seeded.key}\r\nContent-Length: 99999999\r\n\r\n`,
    );
    expect(answer).toContain('413 ');
    expect(answer).toContain('{"error":"payload_too_large"}');
    expect(answer.toLowerCase()).toContain('connection: close');
  });

  test('refuses a body that grows too large while it is sent', async () => {
    const chunk = 'x'.repeat(65_536);
    const chunks = `${chunk.length.toString(16)}\r\n${chunk}\r\n`.repeat(5);
    const answer = await raw(
      `PUT /api/v1/webhook HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${seeded.key}\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`,
    );
    expect(answer).toContain('413 ');
  });

  test('does not read the body of an unauthorized caller', async () => {
    const answer = await raw(
      'PUT /api/v1/webhook HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 99999999\r\n\r\n',
    );
    expect(answer).toContain('401 ');
  });

  test('a repeated query parameter is refused by name', async () => {
    const answer = await refused(
      service.call('GET', '/messages?limit=1&limit=2', { key: seeded.key }),
      400,
      'invalid_request',
    );
    expect(answer.body).toMatchObject({ field: 'limit' });
  });

  test('answers must not be cached', async () => {
    const answer = await service.call('GET', '/connections', { key: seeded.key });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('content-type')).toContain('application/json');
    expect(answer.headers.get('x-powered-by')).toBeNull();
  });

  test('a failure of the service is a 500 without details', async () => {
    proves('errors.generic');
    await service.database.query('ALTER TABLE platform.messages RENAME TO messages_hidden');
    try {
      const answer = await service.call('GET', '/messages', { key: seeded.key });
      expect([answer.status, answer.body]).toEqual([500, { error: 'internal_error' }]);
    } finally {
      await service.database.query('ALTER TABLE platform.messages_hidden RENAME TO messages');
    }
  });
});

test('a key has no expiry', async () => {
  proves('auth.key.no-expiry');
  const service = await startTestPlatform();
  onTestFinished(() => service.close());
  const { key } = await seedWorkspace(service);
  await service.platform.time.advance({ ms: 20 * 365 * 86_400_000 });
  expect((await service.call('GET', '/connections', { key })).status).toBe(200);
});
