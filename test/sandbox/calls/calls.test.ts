import { beforeEach, describe, expect, it } from 'vitest';
import { createCallBoard } from '../../../src/sandbox/calls/call-board.ts';
import { ofFile } from '../../support/of-file.ts';
import { startTestSandbox } from '../fixture.ts';

const test = ofFile(startTestSandbox);

describe('calls to the service in the control API', () => {
  let key: string;
  let keyId: string;
  beforeEach(async () => {
    test.ports.calls.clear();
    const { workspaceId } = test.sandbox.seed;
    ({ id: keyId, key } = (await test.call('POST', `/workspaces/${workspaceId}/api-keys`)).body);
  });

  const list = async (query = '') => (await test.call('GET', `/calls${query}`)).body;
  const paths = async (query: string): Promise<string[]> =>
    (await list(query)).entries.map((entry: { path: string }) => entry.path);

  it('can be listed for one workspace', async () => {
    const { body: made } = await test.call('POST', '/workspaces', { kind: 'standalone' });
    const { id } = made.workspace;
    const { body: theirs } = await test.call('POST', `/workspaces/${id}/api-keys`);
    for (const caller of [key, theirs.key, 'msk_nobody']) {
      await test.service.call('GET', '/account', { key: caller });
    }
    const { entries } = await list(`?workspaceId=${id}`);
    expect(entries).toMatchObject([{ credential: theirs.id, workspaceId: id, status: 200 }]);
    expect(await paths('')).toHaveLength(3);
  });

  it('are listed newest first, with credential, answer and the checks that ran', async () => {
    await test.service.call('GET', '/webhook', { key });
    await test.service.call('GET', '/account?x=1');
    const { now } = (await test.call('GET', '/clock')).body;
    expect(await list()).toEqual({
      entries: [
        {
          id: expect.stringMatching(/^\d+$/),
          at: now,
          method: 'GET',
          path: '/account',
          query: 'x=1',
          credential: null,
          workspaceId: null,
          status: 401,
          code: 'invalid_key',
          ms: 0,
          trace: [{ check: 'credential', passed: false, why: 'no credential was sent' }],
          responseBody: '{"error":"invalid_key"}',
        },
        {
          id: expect.stringMatching(/^\d+$/),
          at: now,
          method: 'GET',
          path: '/webhook',
          credential: keyId,
          workspaceId: test.sandbox.seed.workspaceId,
          status: 200,
          code: null,
          ms: 0,
          trace: [
            { check: 'credential', passed: true },
            { check: 'address', passed: true, why: 'the key has no allowlist' },
            { check: 'scope', passed: true, why: 'the key has messaging.events' },
            { check: 'shape', passed: true },
          ],
          responseBody: expect.stringMatching(/^\{"url":/),
        },
      ],
    });
    expect(JSON.stringify(await list())).not.toContain(key);
  });

  it('can be filtered by code and by path, which may end with an asterisk', async () => {
    for (const path of ['/account', '/webhook', '/connections', '/connections/a', '/connections/b']) {
      await test.service.call('GET', path);
    }
    await test.service.call('GET', '/nothing');
    expect(await paths('?path=/connections')).toEqual(['/connections']);
    expect(await paths('?path=/connections/*')).toEqual(['/connections/b', '/connections/a']);
    expect(await paths('?code=not_found')).toEqual(['/nothing']);
    expect(await paths('?code=invalid_key&path=/web*')).toEqual(['/webhook']);
    expect(await paths('?code=rate_limited')).toEqual([]);
  });

  it('name the connection whose messages were read', async () => {
    const { body } = await test.service.call('GET', '/connections', { key });
    const [{ id: own } = { id: '' }] = (body as { connections: { id: string }[] }).connections;
    for (const id of [own, 'cnobodyhasthisid000000000'])
      await test.service.call('GET', `/messages?connectionId=${id}`, { key });
    await test.service.call('GET', '/messages', { key });
    const { entries } = await list('?path=/messages');
    expect(entries.map((call: { connectionId?: string }) => call.connectionId)).toEqual([
      undefined,
      undefined,
      own,
    ]);
  });

  it('are paged consistently while more arrive', async () => {
    const asked = ['/1', '/2', '/3', '/4', '/5'];
    for (const path of asked) await test.service.call('GET', path);
    const first = await list('?limit=2');
    await test.service.call('GET', '/6');
    const second = await list(`?limit=2&cursor=${first.nextCursor}`);
    const third = await list(`?limit=2&cursor=${second.nextCursor}`);
    const seen = [first, second, third].map(({ entries }) =>
      entries.map(({ path }: { path: string }) => path),
    );
    expect(seen).toEqual([['/5', '/4'], ['/3', '/2'], ['/1']]);
    expect(third).not.toHaveProperty('nextCursor');
  });

  it.each([
    ['cursor=forged', 'cursor'],
    ['limit=0', 'limit'],
    ['path=messages', 'path'],
    ['path=/a*b', 'path'],
    ['status=200', 'status'],
  ])('are refused for a query with %s, which is named', async (query, field) => {
    const { status, body } = await test.call('GET', `/calls?${query}`);
    expect([status, body.error, body.field]).toEqual([400, 'invalid_request', field]);
  });

  it('name the faults that affected them', async () => {
    const rules = [
      { id: 'busy', match: { surface: 'api', path: '/account' }, action: { type: 'status', code: 429 } },
    ];
    await test.call('PUT', '/faults', { rules });
    await test.service.call('GET', '/account', { key, faulted: true });
    await test.service.call('GET', '/webhook', { key });
    await test.call('DELETE', '/faults');
    const [untouched, touched] = (await list()).entries;
    const fault = { check: 'fault', passed: false, why: 'the rule "busy" answered 429; nothing was done' };
    expect(touched).toMatchObject({
      status: 429,
      faults: ['busy'],
      trace: [{ check: 'credential', passed: true }, fault],
    });
    expect(await paths(`?workspaceId=${touched.workspaceId}&code=rate_limited`)).toEqual(['/account']);
    expect(untouched).not.toHaveProperty('faults');
  });

  it('show the query and both bodies, without the values of secrets', async () => {
    const url = 'https://crm.example.com/hook';
    const put = await test.service.call('PUT', '/webhook', { key, body: { url } });
    const { secret } = put.body as { secret: string };
    const query = 'limit=1&Access_Token=a1&code=b2&label=code';
    await test.service.call('GET', `/connections?${query}`, { key });
    const [read, written] = (await list()).entries;
    expect(read.query).toBe('limit=1&Access_Token=…&code=…&label=code');
    expect(read).not.toHaveProperty('requestBody');
    expect(written).not.toHaveProperty('query');
    expect(written.requestBody).toBe(JSON.stringify({ url }));
    expect(JSON.parse(written.responseBody)).toMatchObject({ url, secret: '…' });
    expect(JSON.stringify([read, written])).not.toContain(secret);
    expect(await paths('?q=crm.example.com')).toEqual(['/webhook']);
  });

  it('show the body of a refused call that was read, and none of one that was not', async () => {
    await test.service.call('PUT', '/webhook', { key, body: { url: 1, secret: 'a"b', clientSecret: 'c' } });
    await test.service.call('PUT', '/webhook', { key: 'msk_nobody', body: { url: 'https://a.example.com' } });
    const [unread, refused] = (await list()).entries;
    expect(refused.requestBody).toBe('{"url":1,"secret":"…","clientSecret":"…"}');
    expect(JSON.parse(refused.responseBody)).toMatchObject({ error: 'invalid_request', field: 'url' });
    expect(unread).not.toHaveProperty('requestBody');
  });

  it('show 16 kB of a body, in lists 2 kB, with the number of bytes that follow', async () => {
    await test.service.call('PUT', '/webhook', { key, body: { filler: 'é'.repeat(10_000) } });
    const [{ id, requestBody }] = (await list()).entries;
    expect(requestBody).toBe(`{"filler":"${'é'.repeat(1_018)}… (17966 more bytes)`);
    const whole = await test.call('GET', `/calls/${id}`);
    expect(whole.body.requestBody).toBe(`{"filler":"${'é'.repeat(8_186)}… (3630 more bytes)`);
  });

  it('hide a secret that is cut off', async () => {
    const filler = 'é'.repeat(8_175);
    await test.service.call('PUT', '/webhook', { key, body: { filler, secret: 'never-shown-'.repeat(10) } });
    const [{ id }] = (await list()).entries;
    const whole = await test.call('GET', `/calls/${id}`);
    expect(whole.body.requestBody).toBe(`{"filler":"${filler}","secret":"…… (111 more bytes)`);
  });

  it('show no response that a fault kept from the client', async () => {
    const rules = [
      { id: 'lost', match: { surface: 'api', path: '/webhook' }, action: { type: 'lost_answer' } },
    ];
    await test.call('PUT', '/faults', { rules });
    await test.service.call('GET', '/webhook', { key, faulted: true }).catch(() => undefined);
    await test.call('DELETE', '/faults');
    const [call] = (await list()).entries;
    expect([call.status, call.responseBody]).toEqual([null, undefined]);
    expect((await list('?q=status:none')).entries).toEqual([call]);
  });

  it('are deleted by a reset, and only the latest are kept', async () => {
    await test.service.call('GET', '/account');
    const board = createCallBoard({ calls: 3, characters: 1_000 });
    const record = {
      method: 'GET',
      credentialId: null,
      workspaceId: null,
      connectionId: null,
      messageIds: [],
      query: null,
      requestBody: null,
      responseBody: null,
      status: 404,
      code: 'not_found',
      ms: 0,
      trace: [],
    };
    for (let at = 1; at <= 100; at += 1) board.onCall({ ...record, at, path: `/${at}`, faults: [] });
    expect(board.list({ limit: 10 }).entries.map(({ path }) => path)).toEqual(['/100', '/99', '/98']);
    const long = { ...record, responseBody: 'x'.repeat(400), faults: [] };
    for (let at = 1; at <= 100; at += 1) board.onCall({ ...long, at, path: `/${at}` });
    expect(board.list({ limit: 10 }).entries.map(({ path }) => path)).toEqual(['/100', '/99']);
    const saved = board.save();
    expect(saved.kept).toHaveLength(2);
    const loaded = createCallBoard();
    loaded.load(saved);
    loaded.onCall({ ...record, at: 101, path: '/101', faults: [] });
    expect(loaded.list({ limit: 10 }).entries.map(({ id }) => id)).toEqual(['201', '200', '199']);
    await test.call('POST', '/reset');
    expect(await list()).toEqual({ entries: [] });
  });

  it('are reported to listeners until they unsubscribe', async () => {
    const told: string[] = [];
    const leave = test.ports.calls.onEntry(({ path }) => told.push(path));
    await test.service.call('GET', '/first');
    leave();
    await test.service.call('GET', '/second');
    expect(told).toEqual(['/first']);
  });
});

describe('POST /api-keys/{id}/try', () => {
  const makeKey = async (access: object): Promise<string> =>
    (await test.call('POST', `/workspaces/${test.sandbox.seed.workspaceId}/api-keys`, access)).body.id;
  const tried = async (id: string, address: string) =>
    (await test.call('POST', `/api-keys/${id}/try`, { address })).body;

  it('says whether an address would be allowed, and by which entry', async () => {
    const id = await makeKey({ ipAllowlist: ['198.51.100.1', '203.0.113.0/24', '2001:db8::/32'] });
    expect(await tried(id, '203.0.113.9')).toEqual({ allowed: true, entry: '203.0.113.0/24' });
    expect(await tried(id, '::ffff:198.51.100.1')).toEqual({ allowed: true, entry: '198.51.100.1' });
    expect(await tried(id, '2001:db8::7')).toEqual({ allowed: true, entry: '2001:db8::/32' });
    expect(await tried(id, '203.0.114.9')).toEqual({ allowed: false, entry: null });
  });

  it('treats an invalid address as one that cannot be determined', async () => {
    expect(await tried(await makeKey({ ipAllowlist: ['0.0.0.0/0'] }), 'unknown')).toEqual({
      allowed: false,
      entry: null,
    });
    expect(await tried(await makeKey({}), 'unknown')).toEqual({ allowed: true, entry: null });
  });

  it('reflects a change of the key immediately, and refuses a revoked one', async () => {
    const id = await makeKey({ ipAllowlist: ['203.0.113.7'] });
    await test.call('PATCH', `/api-keys/${id}`, { ipAllowlist: null });
    expect(await tried(id, '192.0.2.1')).toEqual({ allowed: true, entry: null });
    await test.call('DELETE', `/api-keys/${id}`);
    expect(await tried(id, '192.0.2.1')).toMatchObject({ error: 'not_found' });
    expect(await tried('unknown', '192.0.2.1')).toMatchObject({ error: 'not_found' });
  });

  it('refuses a body without an address', async () => {
    const id = await makeKey({});
    for (const body of [{}, { address: '' }, { address: 7 }, { address: '1.2.3.4', more: 1 }]) {
      expect((await test.call('POST', `/api-keys/${id}/try`, body)).status).toBe(400);
    }
  });
});
