import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { errorBody } from '../../../src/contract/service/errors.ts';
import { ofFile } from '../../support/of-file.ts';
import { readExactly, seedWorkspace, startTestPlatform, type TestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';
import { exchangeRaw } from '../../support/raw-exchange.ts';

describe('gate', () => {
  const service = ofFile(startTestPlatform);
  let seeded: Awaited<ReturnType<typeof seedWorkspace>>;
  beforeAll(async () => {
    seeded = await seedWorkspace(service);
  });

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

  test('refuses two credentials, even if both are valid', async () => {
    const line = `Authorization: Bearer ${seeded.key}\r\n`;
    const request = (lines: string) =>
      `GET /api/v1/connections HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${lines}\r\n`;
    expect(await raw(request(line))).toContain('200 OK');
    const twice = await raw(request(line + line));
    expect(twice).toContain('401 Unauthorized');
    expect(twice).toContain('invalid_key');
  });

  test('a narrowed scope and a revocation apply to the next call', async () => {
    proves('auth.key.live-scopes', 'auth.key.live-revoked');
    const { id, key } = await service.platform.apiKeys.create(seeded.workspaceId);
    const call = () => service.call('GET', '/connections', { key });
    expect((await call()).status).toBe(200);
    await service.platform.apiKeys.change(id, { scopes: ['messaging.send'] });
    await refused(call(), 403, 'insufficient_scope');
    await service.platform.apiKeys.revoke(id);
    await refused(call(), 401, 'invalid_key');
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

  test('accepts JSON with any content type', async () => {
    const body = JSON.stringify({ connectionId: seeded.connectionId, to: '4915100000000', text: 'hello' });
    const answer = await service.call('POST', '/messages', {
      key: seeded.key,
      body,
      headers: { 'content-type': 'text/plain' },
    });
    expect(answer.status).toBe(200);
  });

  test('refuses a body that grows too large while it is sent', async () => {
    const chunk = 'x'.repeat(65_536);
    const chunks = `${chunk.length.toString(16)}\r\n${chunk}\r\n`.repeat(5);
    const answer = await raw(
      `PUT /api/v1/webhook HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${seeded.key}\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`,
    );
    expect(answer).toContain('413 ');
  });

  test('answers must not be cached', async () => {
    const answer = await service.call('GET', '/connections', { key: seeded.key });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('content-type')).toContain('application/json');
    expect(answer.headers.get('x-powered-by')).toBeNull();
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
