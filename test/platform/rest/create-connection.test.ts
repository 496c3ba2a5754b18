import { describe, expect, test } from 'vitest';
import {
  connectionDetailAnswer,
  connectionListAnswer,
  replayedConnectionAnswer,
} from '../../../src/contract/service/connections.ts';
import { ofFile } from '../../support/of-file.ts';
import { createPausingDatabase } from '../../support/pausing-database.ts';
import { seedWorkspace, startTestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';
import { exchangeRaw } from '../../support/raw-exchange.ts';
import { readQr } from '../../support/read-qr.ts';

const DAY = 86_400_000;

describe('POST /connections', () => {
  const pausing = createPausingDatabase();
  const service = ofFile(() => startTestPlatform({ wrapDatabase: pausing.wrap }));

  interface Asked {
    readonly idempotencyKey?: string;
    readonly body?: unknown;
  }

  const post = (key: string, { idempotencyKey, body }: Asked = {}) =>
    service.call('POST', '/connections', {
      key,
      ...(body === undefined ? {} : { body }),
      ...(idempotencyKey === undefined ? {} : { headers: { 'idempotency-key': idempotencyKey } }),
    });
  const madeBy = async (asked: ReturnType<typeof post>, status: number) => {
    const answer = await asked;
    expect(answer.status).toBe(status);
    return replayedConnectionAnswer.parse(answer.body).connection;
  };
  const refusedWith = async (asked: ReturnType<typeof post>) => {
    const { status, body } = await asked;
    return [status, body];
  };
  const newKey = async (slots?: number) => {
    const workspace = await service.platform.workspaces.create({
      kind: 'standalone',
      ...(slots === undefined ? {} : { slots }),
    });
    return (await service.platform.apiKeys.create(workspace.id)).key;
  };
  const detail = async (key: string, id: string) => {
    const { body } = await service.call('GET', `/connections/${id}`, { key });
    return connectionDetailAnswer.parse(body).connection;
  };
  const pair = async (id: string, qr: string | undefined, phoneNumber?: string) =>
    service.platform.ownerPhones.scan(id, readQr(qr).text, phoneNumber);
  const countOf = async (key: string) => {
    const { body } = await service.call('GET', '/account', { key });
    return (body as { connections: { total: number } }).connections.total;
  };

  test('creates the first connection of a workspace, which waits to be paired', async () => {
    proves('connections.create.answer', 'connections.create.key-optional');
    proves('connections.create.body.optional', 'connections.create.first-by-key');
    proves('connections.create.qr-kind', 'connections.created.exact', 'connections.created.id');
    proves('connections.created.status', 'connections.created.qr');
    proves('auth.key.first-connection');
    proves('state.created.connecting', 'state.created.qr', 'state.created.claims-nothing');
    proves('service.slot.attaches');
    proves('choice.unpaired', 'choice.next-expiry');
    const key = await newKey();
    expect(await countOf(key)).toBe(0);
    const answer = await post(key);
    expect([answer.status, answer.headers.get('idempotency-replayed')]).toEqual([201, null]);
    const { connection } = answer.body as { connection: Record<string, unknown> };
    expect(Object.keys(connection).sort()).toEqual(['id', 'qr', 'status']);
    const { id } = connection;
    expect(connection).toMatchObject({ id: expect.stringMatching(/^c[0-9a-z]{24}$/), status: 'connecting' });
    expect(readQr(connection['qr']).text).toContain(String(id).toUpperCase());
    expect(await detail(key, String(id))).toMatchObject({ provider: 'qr', licenseStatus: 'none' });
    const { body: account } = await service.call('GET', '/account', { key });
    expect(account).toMatchObject({
      slots: { used: 0, nextExpiry: null },
      connections: { total: 1, connected: 0, needsReconnect: 0 },
    });
    const { body: list } = await service.call('GET', '/connections', { key });
    expect(list).toEqual({ connections: [] });
  });

  test('accepts a label, ignores unknown fields, and labels a connection without a label with its number', async () => {
    proves('connections.create.body.label');
    const key = await newKey();
    const named = await madeBy(post(key, { body: { label: 'Reception ☎️', future: [1] } }), 201);
    expect((await detail(key, named.id)).label).toBe('Reception ☎️');
    const unnamed = await madeBy(post(key, { body: {} }), 201);
    expect((await detail(key, unnamed.id)).label).toBe('');
    await pair(named.id, named.qr, '447700900131');
    await pair(unnamed.id, unnamed.qr, '447700900132');
    const { body } = await service.call('GET', '/connections', { key });
    const labels = connectionListAnswer.parse(body).connections.map(({ label }) => label);
    expect(labels).toEqual(['Reception ☎️', '447700900132']);
  });

  test.each([
    ['a label that is no string', { label: 5 }, 'label'],
    ['a label that is null', { label: null }, 'label'],
    ['a label of 256 characters', { label: 'x'.repeat(256) }, 'label'],
    ['a label with NUL', { label: 'a\0b' }, 'label'],
    ['a label with half a surrogate pair', '{"label":"\\ud800"}', 'label'],
    ['an array', [], 'body'],
    ['null', 'null', 'body'],
    ['no JSON', '{', 'body'],
  ])('refuses %s', async (_what, body, field) => {
    const key = await newKey();
    expect(await refusedWith(post(key, { body }))).toMatchObject([400, { error: 'invalid_request', field }]);
    expect(await countOf(key)).toBe(0);
  });

  test('is refused in a portal workspace, which makes its connections itself, before anything else is checked', async () => {
    proves('connections.create.standalone-only');
    proves('errors.forbidden_portal_kind');
    proves('service.portal.made-inside');
    const { key } = await seedWorkspace(service, { kind: 'crm_portal' });
    const refused = [403, { error: 'forbidden_portal_kind' }];
    expect(await refusedWith(post(key))).toEqual(refused);
    expect(await refusedWith(post(key, { body: '{', idempotencyKey: 'x'.repeat(300) }))).toEqual(refused);
    expect(await countOf(key)).toBe(1);
  });

  test('beyond the slots, a connection is created and pairs, but has no license', async () => {
    proves('connections.create.over-quota', 'service.gate.unsendable');
    const key = await newKey(1);
    const first = await madeBy(post(key), 201);
    const second = await madeBy(post(key), 201);
    expect(await pair(first.id, first.qr)).toBe('paired');
    expect(await pair(second.id, second.qr)).toBe('paired');
    expect((await detail(key, first.id)).licenseStatus).toBe('trial');
    expect(await detail(key, second.id)).toMatchObject({ status: 'connected', licenseStatus: 'none' });
    const { body } = await service.call('GET', '/connections', { key });
    expect(connectionListAnswer.parse(body).connections.map(({ id }) => id)).toEqual([first.id]);
    const text = { connectionId: second.id, to: '4915800000001', text: 'x' };
    const sent = service.call('POST', '/messages', { key, body: text });
    expect(await refusedWith(sent)).toEqual([402, { error: 'license_inactive' }]);
  });

  test('a key with a connection list has access to what it creates, and to nothing else', async () => {
    const { workspaceId, connectionId } = await seedWorkspace(service);
    const { key } = await service.platform.apiKeys.create(workspaceId, { connectionIds: [] });
    const { id } = await madeBy(post(key), 201);
    expect((await detail(key, id)).status).toBe('connecting');
    expect((await service.call('GET', `/connections/${connectionId}`, { key })).status).toBe(404);
  });

  test('a repeat with the same key and body returns the same connection and a new QR code, and creates nothing', async () => {
    proves('connections.create.idempotency.new', 'connections.create.idempotency.replay');
    proves('connections.create.idempotency.replay-header', 'connections.create.idempotency.replay-nothing');
    proves('connections.create.idempotency.replay-qr', 'connections.create.idempotency.canonical');
    proves('connections.create.replay-answer');
    const key = await newKey();
    const idempotencyKey = 'order-1';
    const body = '{"label":"A","x":{"b":1,"a":[1,2]}}';
    const first = await madeBy(post(key, { idempotencyKey, body }), 201);
    const again = await post(key, { idempotencyKey, body: '{ "x": {"a":[1,2],"b":1.0}, "label":"A" }' });
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true']);
    const repeated = replayedConnectionAnswer.parse(again.body).connection;
    expect(repeated).toMatchObject({ id: first.id, status: 'connecting' });
    expect(repeated.qr).not.toBe(first.qr);
    expect(await countOf(key)).toBe(1);
    expect(await pair(repeated.id, repeated.qr)).toBe('paired');
  });

  test('a body of any depth may have a key', async () => {
    const [key, idempotencyKey] = [await newKey(), 'k'];
    const body = `{"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    const { id } = await madeBy(post(key, { idempotencyKey, body }), 201);
    expect((await madeBy(post(key, { idempotencyKey, body }), 200)).id).toBe(id);
  });

  test('no body and an empty one are equal', async () => {
    const key = await newKey();
    const { id } = await madeBy(post(key, { idempotencyKey: 'k' }), 201);
    expect((await madeBy(post(key, { idempotencyKey: 'k', body: {} }), 200)).id).toBe(id);
  });

  test('a repeat returns the current connection: without a QR code if paired, with one if broken', async () => {
    const key = await newKey();
    const made = await madeBy(post(key, { idempotencyKey: 'k' }), 201);
    await pair(made.id, made.qr);
    const repeat = await post(key, { idempotencyKey: 'k' });
    expect([repeat.status, repeat.body]).toEqual([200, { connection: { id: made.id, status: 'connected' } }]);
    await service.call('POST', `/connections/${made.id}/logout`, { key });
    const broken = await madeBy(post(key, { idempotencyKey: 'k' }), 200);
    expect(broken).toMatchObject({ id: made.id, status: 'disconnected', qr: expect.any(String) });
  });

  test('a repeat after the deletion creates no second connection', async () => {
    const key = await newKey();
    const { id } = await madeBy(post(key, { idempotencyKey: 'k' }), 201);
    await service.call('DELETE', `/connections/${id}`, { key });
    expect(await refusedWith(post(key, { idempotencyKey: 'k' }))).toEqual([404, { error: 'not_found' }]);
    expect(await countOf(key)).toBe(0);
  });

  test('a repeat with a key that has no access to the connection discloses nothing of it', async () => {
    const { workspaceId, key } = await seedWorkspace(service);
    await madeBy(post(key, { idempotencyKey: 'k' }), 201);
    const { key: narrow } = await service.platform.apiKeys.create(workspaceId, { connectionIds: [] });
    expect(await refusedWith(post(narrow, { idempotencyKey: 'k' }))).toEqual([404, { error: 'not_found' }]);
  });

  test('a different body with the same key is refused, and the key stays with the first', async () => {
    proves('connections.create.idempotency.reuse', 'errors.idempotency_key_reuse');
    const key = await newKey();
    const idempotencyKey = 'k';
    const { id } = await madeBy(post(key, { idempotencyKey, body: { label: 'A' } }), 201);
    for (const body of [{ label: 'B' }, { label: 'A', more: 1 }, {}, { label: 'A', x: null }]) {
      const refused = await refusedWith(post(key, { idempotencyKey, body }));
      expect(refused).toEqual([400, { error: 'idempotency_key_reuse' }]);
    }
    expect((await madeBy(post(key, { idempotencyKey, body: { label: 'A' } }), 200)).id).toBe(id);
    expect(await countOf(key)).toBe(1);
  });

  test('two workspaces can use the same key', async () => {
    proves('connections.create.idempotency.per-workspace');
    const [one, other] = [await newKey(), await newKey()];
    const made = await madeBy(post(one, { idempotencyKey: 'k', body: { label: 'A' } }), 201);
    const also = await madeBy(post(other, { idempotencyKey: 'k', body: { label: 'B' } }), 201);
    expect(also.id).not.toBe(made.id);
  });

  test('a key expires after 24 hours of virtual time, not before', async () => {
    proves('connections.create.idempotency.lifetime', 'limits.idempotency-key');
    const key = await newKey();
    await service.platform.time.freeze();
    const { id } = await madeBy(post(key, { idempotencyKey: 'k' }), 201);
    await service.platform.time.advance({ ms: DAY - 1 });
    expect((await madeBy(post(key, { idempotencyKey: 'k' }), 200)).id).toBe(id);
    await service.platform.time.advance({ ms: 1 });
    const next = await madeBy(post(key, { idempotencyKey: 'k', body: { label: 'new' } }), 201);
    expect(next.id).not.toBe(id);
    expect((await madeBy(post(key, { idempotencyKey: 'k', body: { label: 'new' } }), 200)).id).toBe(next.id);
    await service.platform.time.run();
  });

  test('a key has at most 255 characters, is never cut, and counts characters, not bytes', async () => {
    proves('connections.create.idempotency.too-long', 'connections.create.idempotency.not-cut');
    proves('errors.idempotency_key_invalid');
    proves('limits.idempotency-key');
    const key = await newKey();
    const stem = 'x'.repeat(254);
    const a = await madeBy(post(key, { idempotencyKey: `${stem}a` }), 201);
    const b = await madeBy(post(key, { idempotencyKey: `${stem}b` }), 201);
    expect(b.id).not.toBe(a.id);
    const invalid = [400, { error: 'idempotency_key_invalid' }];
    expect(await refusedWith(post(key, { idempotencyKey: `${stem}ab` }))).toEqual(invalid);
    // Headers are bytes: this is what a client that writes UTF-8 puts on the wire.
    const bytesOf = (text: string) => Buffer.from(text).toString('latin1');
    await madeBy(post(key, { idempotencyKey: bytesOf('☎'.repeat(255)) }), 201);
    expect(await refusedWith(post(key, { idempotencyKey: bytesOf('☎'.repeat(256)) }))).toEqual(invalid);
    const noUtf8 = (count: number) => ({ idempotencyKey: '\xff'.repeat(count) });
    await madeBy(post(key, noUtf8(255)), 201);
    expect(await refusedWith(post(key, noUtf8(256)))).toEqual(invalid);
  });

  test('a blank key counts as absent', async () => {
    proves('connections.create.idempotency.blank');
    const key = await newKey();
    for (const idempotencyKey of ['', '   ', '\t', '\xc2\xa0']) {
      await madeBy(post(key, { idempotencyKey }), 201);
      await madeBy(post(key, { idempotencyKey, body: { label: 'other' } }), 201);
    }
    expect(await countOf(key)).toBe(8);
  });

  test('several keys are refused, even equal ones', async () => {
    const key = await newKey();
    const lines = [
      'Host: localhost',
      `Authorization: Bearer ${key}`,
      'Idempotency-Key: a',
      'Idempotency-Key: a',
    ];
    const request = `POST /api/v1/connections HTTP/1.1\r\n${lines.join('\r\n')}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`;
    const { statuses, received } = await exchangeRaw(service.port, request);
    expect(statuses).toEqual([400]);
    expect(received).toContain('"field":"Idempotency-Key"');
    expect(await countOf(key)).toBe(0);
  });

  test('the key has no effect on other endpoints', async () => {
    proves('connections.create.idempotency.only-here');
    const { key, connectionId } = await seedWorkspace(service);
    const headers = { 'idempotency-key': 'x'.repeat(300) };
    const restart = () => service.call('POST', `/connections/${connectionId}/restart`, { key, headers });
    const answers = [await restart(), await restart()];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(answers[1]?.headers.get('idempotency-replayed')).toBeNull();
  });

  test('a repeat returns 409 while the first request is in flight, and its connection afterwards', async () => {
    proves('connections.create.idempotency.in-flight', 'connections.create.idempotency.in-flight-wait');
    proves('errors.idempotency_in_progress');
    const key = await newKey();
    const pause = pausing.pauseNext();
    const first = madeBy(post(key, { idempotencyKey: 'k' }), 201);
    await pause.reached;
    for (const body of [undefined, { label: 'another' }]) {
      const second = await post(key, { idempotencyKey: 'k', body });
      expect([second.status, second.body]).toEqual([409, { error: 'idempotency_in_progress' }]);
      expect(second.headers.get('retry-after')).toBe('1');
    }
    pause.goOn();
    const { id } = await first;
    expect((await madeBy(post(key, { idempotencyKey: 'k' }), 200)).id).toBe(id);
  });

  test('a crash in flight leaves no connection and frees the key', async () => {
    const key = await newKey();
    const pause = pausing.pauseNext();
    const first = post(key, { idempotencyKey: 'k' });
    await service.database.query('SELECT pg_terminate_backend($1::int)', [await pause.reached]);
    pause.goOn();
    expect((await first).status).toBe(500);
    expect(await countOf(key)).toBe(0);
    await madeBy(post(key, { idempotencyKey: 'k', body: { label: 'again' } }), 201);
  });

  test('twenty concurrent requests with one key create one connection', async () => {
    const key = await newKey();
    const asked = Array.from({ length: 20 }, () => post(key, { idempotencyKey: 'k' }));
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(1);
    expect(statuses.filter((status) => ![200, 201, 409].includes(status))).toEqual([]);
    expect(await countOf(key)).toBe(1);
  });
});
