import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { TouchedRecord } from '../../../src/sandbox/faults/around-calls.ts';
import { createCallEdge } from '../../../src/sandbox/faults/around-calls.ts';
import type { Fault } from '../../../src/sandbox/faults/fault.ts';
import { logTo } from '../../support/log-to.ts';
import { ofFile } from '../../support/of-file.ts';
import { seedWorkspace, startTestPlatform, type TestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';

describe('the record of a call', () => {
  const service = ofFile(() =>
    startTestPlatform({
      logger: logTo('error', (line) => logged.push(line)),
      ports: {
        onCall: (call) => records.push(edge.explain(call)),
        ...edge,
        aroundCall(call, serve) {
          leave = () => call.response.destroy();
          return edge.aroundCall(call, serve);
        },
        lookup: async () => {
          await onLookup();
          return [{ address: '93.184.216.34', family: 4 }];
        },
      },
    }),
  );
  let seeded: Awaited<ReturnType<typeof seedWorkspace>>;
  let records: TouchedRecord[] = [];
  let logged: string[] = [];
  let faults: readonly Fault[] = [];
  const edge = createCallEdge({ api: { decide: () => faults }, oauth: { decide: () => [] } });
  /** Ends the connection of the latest call, as a client does. */
  let leave = (): unknown => undefined;
  /** Called when the service resolves the name of a webhook, which it does behind the gate. */
  let onLookup = async (): Promise<void> => undefined;
  beforeAll(async () => {
    seeded = await seedWorkspace(service);
  });
  afterEach(() => {
    records = [];
    logged = [];
    faults = [];
    onLookup = async () => undefined;
  });

  const only = (): TouchedRecord => {
    const [record, more] = records;
    expect(more).toBeUndefined();
    if (record === undefined) throw new Error('no call was recorded');
    return record;
  };
  /** The trace as text: `scope`, and `!address: why` for the refusal. */
  const traced = (): string[] =>
    only().trace.map(({ check, passed, why }) => (passed ? check : `!${check}: ${why}`));
  const body = () => ({ connectionId: seeded.connectionId, to: '4915100000000', text: 'hello' });
  const keyWith = (access: Parameters<TestPlatform['platform']['apiKeys']['create']>[1]) =>
    service.platform.apiKeys.create(seeded.workspaceId, access);

  it('contains method, path, credential, answer and time, and no secret', async () => {
    const { id, key } = await keyWith({});
    await service.call('GET', '/messages?limit=5', { key });
    const record = only();
    expect(record).toMatchObject({
      at: service.platform.time.now(),
      method: 'GET',
      path: '/messages',
      credentialId: id,
      status: 200,
      code: null,
      ms: 0,
      faults: [],
    });
    expect(JSON.stringify(record)).not.toContain(key);
  });

  it('lists the checks of an accepted call in their order', async () => {
    await service.call('GET', '/webhook', { key: seeded.key });
    expect(traced()).toEqual(['credential', 'address', 'scope', 'shape']);
  });

  it('lists the checks of each endpoint', async () => {
    const { connectionId: id, key } = await seedWorkspace(service, { phoneNumber: '4915133333333' });
    const { messageId } = await service.platform.messages.receive(id, { from: body().to, text: 'hi' });
    const seen: string[] = [];
    const see = async (method: string, path: string, sent?: object): Promise<void> => {
      records = [];
      await service.call(method, path, { key, ...(sent === undefined ? {} : { body: sent }) });
      seen.push(`${method} ${path.replace(id, '{id}')} ${only().status}: ${traced().slice(2).join(' ')}`);
    };
    await see('GET', '/connections');
    await see('POST', '/connections');
    await see('GET', `/connections/${id}`);
    await see('GET', '/account');
    await see('GET', '/messages');
    await see('POST', '/messages', { ...body(), connectionId: id });
    await see('POST', '/messages/read', { connectionId: id, messageId });
    await see('PUT', '/webhook', { url: 'https://hooks.example/' });
    await see('GET', '/webhook');
    await see('POST', '/webhook/rotate');
    await see('POST', `/connections/${id}/restart`);
    await see('POST', `/connections/${id}/logout`);
    await see('POST', `/connections/${id}/pairing-code`, { phoneNumber: '4915133333333' });
    await see('DELETE', `/connections/${id}`);
    expect(seen).toEqual([
      'GET /connections 200: scope shape',
      'POST /connections 201: scope workspace_kind shape',
      'GET /connections/{id} 200: scope shape connection',
      'GET /account 200: scope shape',
      'GET /messages 200: scope shape',
      'POST /messages 200: scope shape connection license state rate network',
      'POST /messages/read 200: scope shape connection license',
      'PUT /webhook 200: scope shape',
      'GET /webhook 200: scope shape',
      'POST /webhook/rotate 200: scope shape state',
      'POST /connections/{id}/restart 200: scope shape connection state',
      'POST /connections/{id}/logout 200: scope shape connection provider',
      'POST /connections/{id}/pairing-code 200: scope shape connection provider state rate network',
      'DELETE /connections/{id} 200: scope shape connection',
    ]);
  });

  it('contains the allowlist entry that admitted a caller', async () => {
    const { key } = await keyWith({ ipAllowlist: ['203.0.113.0/24', '127.0.0.0/8'] });
    await service.call('GET', '/webhook', { key });
    expect(only().trace).toContainEqual({ check: 'address', passed: true, why: 'let in by 127.0.0.0/8' });
  });

  it('ends with the refusal and its reason, which no client sees', async () => {
    const { id, key } = await keyWith({ connectionIds: ['c1', 'c2'] });
    const answer = await service.call('POST', '/messages', { key, body: body() });
    expect([answer.status, answer.body]).toEqual([404, { error: 'not_found' }]);
    expect(only()).toMatchObject({ credentialId: id, status: 404, code: 'not_found' });
    expect(traced()).toEqual([
      'credential',
      'address',
      'scope',
      'shape',
      '!connection: the key reaches 2 connections, this is not one of them',
    ]);
  });

  it.each([
    ['http://crm.example.com/', 'it is not https'],
    ['https://localhost:3000/', 'the host is localhost'],
    ['https://192.168.0.7/', 'the host is a private address'],
  ])('contains the reason why a webhook at %s is refused, which the answer does not', async (url, why) => {
    proves('webhook.url.https', 'webhook.url.localhost', 'webhook.url.private', 'errors.invalid_webhook');
    const answer = await service.call('PUT', '/webhook', { key: seeded.key, body: { url } });
    expect([answer.status, answer.body]).toEqual([400, { error: 'invalid_webhook' }]);
    expect(traced().at(-1)).toBe(`!shape: ${why}`);
  });

  it('distinguishes what the same answer hides', async () => {
    const other = await seedWorkspace(service, { phoneNumber: '4915187654321' });
    const whyFor = async (connectionId: string) => {
      records = [];
      await service.call('POST', '/messages', { key: seeded.key, body: { ...body(), connectionId } });
      return traced().at(-1);
    };
    expect(await whyFor('unknown')).toBe('!connection: no connection has this id');
    expect(await whyFor(other.connectionId)).toBe('!connection: the connection belongs to another workspace');
  });

  it.each([
    [undefined, '!credential: no credential was sent'],
    ['Basic abc', '!credential: it is not a bearer token'],
    ['Bearer msk_unknown', '!credential: no key has this value'],
    ['Bearer aaa.bbb.ccc', '!credential: no such access token was issued'],
  ])('explains why %s is not a credential', async (authorization, step) => {
    const headers = authorization === undefined ? {} : { authorization };
    await service.call('GET', '/webhook', { headers });
    expect(traced()).toEqual([step]);
    expect(only().credentialId).toBeNull();
  });

  it('lists a check that passed and refused later once, as the refusal', async () => {
    await service.call('GET', '/messages?cursor=forged', { key: seeded.key });
    expect(traced()).toEqual([
      'credential',
      'address',
      'scope',
      '!shape: cursor: use `nextCursor` of the previous page',
    ]);
  });

  it('of a repeated send contains only the checks before its key was recognized', async () => {
    const { connectionId, key } = await seedWorkspace(service, { phoneNumber: '4915155555555' });
    const send = () =>
      service.call('POST', '/messages', { key, body: { ...body(), connectionId, idempotencyKey: 'once' } });
    const first = await send();
    await service.platform.licenses.set(connectionId, { status: 'expired' });
    records = [];
    expect((await send()).body).toEqual(first.body);
    expect(traced()).toEqual(['credential', 'address', 'scope', 'shape', 'connection']);
  });

  it('of an unknown path or method contains only the route', async () => {
    await service.call('GET', '/nothing', { key: seeded.key });
    expect(traced()).toEqual(['!route: no such address']);
    records = [];
    await service.call('DELETE', '/webhook', { key: seeded.key });
    expect(traced()).toEqual(['!route: the address accepts GET, PUT']);
    expect(only()).toMatchObject({ status: 405, code: 'method_not_allowed' });
  });

  it('of a failure of the service ends with the last check that passed', async () => {
    await service.database.query('ALTER TABLE platform.messages RENAME TO messages_hidden');
    await service.call('GET', '/messages', { key: seeded.key });
    await service.database.query('ALTER TABLE platform.messages_hidden RENAME TO messages');
    expect(traced()).toEqual(['credential', 'address', 'scope', 'shape']);
    expect(only()).toMatchObject({ status: 500, code: 'internal_error' });
    expect(logged).toHaveLength(1);
  });

  it('of a refusal by the phone network is not an error of the service and is not logged', async () => {
    await service.platform.outages.begin(seeded.connectionId, { cause: 'zombie' });
    const answer = await service.call('POST', '/messages', { key: seeded.key, body: body() });
    await service.platform.outages.recover(seeded.connectionId);
    expect([answer.status, answer.body]).toEqual([502, { error: 'send_failed' }]);
    expect(logged).toEqual([]);
  });

  it('of a fault that answers contains the caller and the fault', async () => {
    faults = [{ type: 'status', code: 401, name: 'no-key' }];
    const { id, key } = await keyWith({});
    const answer = await service.call('GET', '/webhook', { key, faulted: true });
    expect(answer.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
    expect(only()).toMatchObject({
      credentialId: id,
      workspaceId: seeded.workspaceId,
      status: 401,
      code: 'invalid_key',
      faults: ['no-key'],
    });
    expect(traced()).toEqual(['credential', '!fault: the rule "no-key" answered 401; nothing was done']);
  });

  it('of a fault has no credential if none is valid', async () => {
    faults = [{ type: 'status', code: 503, name: 'away' }];
    await service.call('GET', '/webhook', { key: 'msk_nobody', faulted: true });
    expect(only()).toMatchObject({ credentialId: null, workspaceId: null });
    expect(traced()).toEqual(['!fault: the rule "away" answered 503; nothing was done']);
  });

  it('of a reset connection has no status', async () => {
    faults = [{ type: 'reset', name: 'cut' }];
    await expect(service.call('GET', '/webhook', { key: seeded.key })).rejects.toThrow('fetch failed');
    expect(only()).toMatchObject({
      workspaceId: seeded.workspaceId,
      status: null,
      code: null,
      faults: ['cut'],
    });
    expect(traced()).toEqual(['credential', '!fault: the rule "cut" reset the connection; nothing was done']);
  });

  it('of a call whose client left before the answer has no status', async () => {
    const { key } = await seedWorkspace(service, { phoneNumber: '4915133333335' });
    onLookup = async () => void leave();
    const webhook = { url: 'https://hooks.example.com/' };
    await expect(service.call('PUT', '/webhook', { key, body: webhook })).rejects.toThrow('fetch failed');
    await expect.poll(() => records).toHaveLength(1);
    expect(only()).toMatchObject({ status: null });
  });

  it('of a lost answer has the result of the call, and no status', async () => {
    const { key } = await seedWorkspace(service, { phoneNumber: '4915133333334' });
    faults = [{ type: 'lost_answer' }];
    await expect(service.call('POST', '/webhook/rotate', { key })).rejects.toThrow('fetch failed');
    expect(only()).toMatchObject({ status: null, code: 'invalid_webhook', faults: ['lost_answer'] });
    expect(traced().slice(-2)).toEqual([
      '!state: no webhook is set',
      '!fault: the rule "lost_answer" reset the connection instead of answering',
    ]);
  });

  it('cuts a very long path', async () => {
    await service.call('GET', `/connections/${'a'.repeat(8_000)}`, { key: seeded.key });
    expect(only().path).toHaveLength(2_049);
  });

  it('separates the traces of concurrent calls', async () => {
    const { key: reader } = await keyWith({ scopes: ['messaging.read'] });
    await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        service.call('GET', '/webhook', { key: index % 2 === 0 ? seeded.key : reader }),
      ),
    );
    const lengths = records.map(({ status, trace }) => [status, trace.length]);
    expect(lengths.filter(([status]) => status === 200)).toEqual(Array(20).fill([200, 4]));
    expect(lengths.filter(([status]) => status === 403)).toEqual(Array(20).fill([403, 3]));
  });

  it('applies to one moment: a call that passed the gate is executed, even if its key is revoked or narrowed meanwhile', async () => {
    const { id, key } = await keyWith({});
    onLookup = async () => {
      await service.platform.apiKeys.change(id, { scopes: [], ipAllowlist: [] });
      await service.platform.apiKeys.revoke(id);
    };
    const put = { key, body: { url: 'https://hooks.example/' } };
    expect((await service.call('PUT', '/webhook', put)).status).toBe(200);
    expect((await service.call('PUT', '/webhook', put)).status).toBe(401);
  });
});
