import { describe, expect, it } from 'vitest';
import type { OpenApiDocument } from '../../src/contract/openapi/document.ts';
import { createdApiKey } from '../../src/contract/sandbox/access.ts';
import { delivery, ledgerEntry } from '../../src/contract/sandbox/deliveries.ts';
import { sandboxInfo } from '../../src/contract/sandbox/info.ts';
import type { DeliveryRecord } from '../../src/platform/webhooks/delivery-record.ts';
import { presentDelivery } from '../../src/sandbox/endpoints/delivery-endpoints.ts';
import { createSandboxPorts } from '../../src/sandbox/sandbox-ports.ts';
import { ofFile } from '../support/of-file.ts';
import { readExactly } from '../support/platform.ts';
import { proves } from '../support/proves.ts';
import { type SandboxAnswer, startTestSandbox } from './fixture.ts';
import { useHookedSandbox } from './hooked-sandbox.ts';

const HOOK = 'https://crm.example.com/';

const hook = useHookedSandbox();

describe('the sandbox', () => {
  const listConnections = async (): Promise<{ id: string; provider: string; phoneNumber: string }[]> =>
    (await hook.api('GET', '/connections')).body.connections;

  describe('at its start', () => {
    it('reports addresses and credentials', async () => {
      const { status, body } = await hook.call('GET', '/info');
      expect(status).toBe(200);
      expect(readExactly(sandboxInfo, body)).toMatchObject({
        sandboxUrl: `http://127.0.0.1:${hook.port}`,
        connectorUrl: null,
        workspaceId: hook.sandbox.seed.workspaceId,
        apiKey: hook.sandbox.seed.apiKey,
        now: new Date(hook.service.platform.time.now()).toISOString(),
      });
    });

    it('has paired numbers of both kinds, which its key can reach', async () => {
      const connections = await listConnections();
      expect(connections.map(({ provider }) => provider).sort()).toEqual(['cloud_api', 'qr', 'qr', 'qr']);
      expect(new Set(connections.map(({ phoneNumber }) => phoneNumber)).size).toBe(4);
    });

    it('keeps the seed and tunnels after a restart', async () => {
      const { sandbox, ports } = await hook.again();
      expect(sandbox.seed).toEqual(hook.sandbox.seed);
      expect(ports.hosts.target('crm.example.com')).toBe(hook.receiver.origin);
      expect(await listConnections()).toHaveLength(4);
    });

    it('serves the OpenAPI document of the service, with its own address', async () => {
      const answer = await fetch(`http://127.0.0.1:${hook.port}/sandbox/v1/service.openapi.json`);
      const { info, servers, paths } = (await answer.json()) as OpenApiDocument;
      expect([answer.status, info.title]).toEqual([200, 'Messaging service']);
      expect(servers).toEqual([{ url: `${hook.service.origin}/api/v1` }]);
      expect(Object.values(paths).flatMap((methods) => Object.keys(methods))).toHaveLength(14);
    });
  });

  describe('its numbers', () => {
    const DAY = 86_400_000;
    /** License status by phone number, as the detail shows it: the list hides what has ended. */
    const licenses = async (ids: readonly string[]): Promise<Record<string, string>> => {
      const details = await Promise.all(ids.map((id) => hook.api('GET', `/connections/${id}`)));
      return Object.fromEntries(
        details.map(({ body: { connection } }) => [connection.phoneNumber, connection.licenseStatus]),
      );
    };
    const ACTIVE = { '447700900101': 'active', '447700900102': 'active', '447700900104': 'active' };

    it('outlast a trial, except one that shows how a trial ends', async () => {
      const ids = (await listConnections()).map(({ id }) => id);
      expect(await licenses(ids)).toEqual({ ...ACTIVE, '447700900103': 'trial' });
      await hook.service.platform.time.advance({ ms: 400 * DAY });
      expect(await licenses(ids)).toEqual({ ...ACTIVE, '447700900103': 'expired' });
      expect(await listConnections()).toHaveLength(3);
      await hook.again();
      expect(await licenses(ids)).toEqual({ ...ACTIVE, '447700900103': 'trial' });
    });

    it('keep a license that ended the trial early', async () => {
      const trial = (await listConnections()).find(({ phoneNumber }) => phoneNumber === '447700900103');
      const id = trial?.id ?? '';
      await hook.service.platform.time.advance({ ms: 400 * DAY });
      await hook.again();
      expect(await licenses([id])).toEqual({ '447700900103': 'trial' });
      await hook.service.platform.licenses.set(id, { status: 'expired' });
      await hook.again();
      expect(await licenses([id])).toEqual({ '447700900103': 'expired' });
    });

    it('keep a license that was set, and so do numbers that were added', async () => {
      const [first = ''] = (await listConnections()).map(({ id }) => id);
      const { id: added } = await hook.service.platform.connections.createPaired(
        hook.sandbox.seed.workspaceId,
        { provider: 'qr', phoneNumber: '447700900188' },
      );
      await hook.service.platform.licenses.set(first, { status: 'expired' });
      await hook.service.platform.time.advance({ ms: 40 * DAY });
      await hook.again();
      expect(Object.values(await licenses([first, added]))).toEqual(['expired', 'expired']);
    });
  });

  describe('people', () => {
    it('write to a connection, and the service delivers it to the webhook', async () => {
      proves('events.received.fires', 'events.post', 'service.qr.events');
      const { connectionId } = hook;
      const { status, body } = await hook.write('guten Tag');
      expect({ status, body }).toEqual({ status: 201, body: { messageId: expect.any(String) } });
      const [request] = await hook.receiver.received(1);
      expect(JSON.parse(request?.body.toString() ?? '')).toMatchObject({
        event: 'message.received',
        connection_id: connectionId,
        message: { id: body.messageId, from: '491700000009', text: 'guten Tag' },
      });
    });

    it('show what their phone received, in pages', async () => {
      const { connectionId } = hook;
      for (const text of ['one', 'two', 'three']) {
        await hook.api('POST', '/messages', { connectionId, to: '491700000002', text });
      }
      const { body: page } = await hook.call('GET', '/contacts/491700000002/messages?limit=2');
      expect(page.entries.map(({ text }: { text: string }) => text)).toEqual(['one', 'two']);
      const next = `/contacts/491700000002/messages?limit=2&cursor=${page.nextCursor}`;
      const { body: last } = await hook.call('GET', next);
      expect(last).toEqual({
        entries: [
          {
            messageId: expect.any(String),
            connectionId,
            from: expect.stringMatching(/^\d+$/),
            text: 'three',
            at: expect.stringMatching(/Z$/),
          },
        ],
      });
    });

    it('can have the status of a message changed by hand', async () => {
      await hook.call('PUT', '/contacts/491700000003', { deliverAfterMs: null, readAfterMs: null });
      const sent = { connectionId: hook.connectionId, to: '491700000003', text: 'hello' };
      const { messageId } = (await hook.api('POST', '/messages', sent)).body;
      const move = (status: string) => hook.call('POST', `/messages/${messageId}/status`, { status });
      expect((await move('read')).body).toEqual({ changed: true, status: 'read' });
      expect((await move('read')).body).toMatchObject({ changed: false, status: 'read' });
      expect((await hook.call('POST', '/messages/cnothing/status', { status: 'read' })).status).toBe(404);
    });
  });

  describe('deliveries', () => {
    it('are listed with attempts, headers and raw body', async () => {
      await hook.write();
      await hook.service.platform.delivery.settle();
      const { body } = await hook.call('GET', '/deliveries');
      expect(body.nextCursor).toBeUndefined();
      const [entry] = body.entries;
      readExactly(delivery, entry);
      expect(entry).toMatchObject({ event: 'message.received', url: HOOK, outcome: 'delivered' });
      expect(entry.attempts).toMatchObject([{ status: 200 }]);
      expect(entry.body).toBe(hook.receiver.requests[0]?.body.toString());
      expect(entry.headers['X-Service-Signature']).toBe(
        hook.receiver.requests[0]?.headers['x-service-signature']?.[0],
      );
      expect(JSON.stringify(body)).not.toContain(hook.secret);
    });

    it('can be listed for one workspace', async () => {
      const { body: made } = await hook.call('POST', '/workspaces', { kind: 'standalone' });
      const { id } = made.workspace;
      const phone = { provider: 'qr', phoneNumber: '447700900155' };
      const { body: added } = await hook.call('POST', `/workspaces/${id}/connections`, phone);
      await hook.write();
      const elsewhere = { connectionId: added.connection.id, text: 'hello' };
      await hook.call('POST', '/contacts/491700000009/messages', elsewhere);
      const pending = (await hook.call('GET', `/deliveries?workspaceId=${id}`)).body.entries;
      await hook.service.platform.delivery.settle();
      const over = (await hook.call('GET', `/deliveries?workspaceId=${id}`)).body.entries;
      for (const entries of [pending, over]) {
        expect(entries).toMatchObject([{ workspaceId: id, connectionId: added.connection.id }]);
      }
      expect((await hook.call('GET', '/deliveries')).body.entries).toHaveLength(2);
    });

    it('have a ledger of every event, in order, whether or not it was delivered', async () => {
      await hook.call('PUT', '/faults', {
        rules: [{ id: 'lose', match: { surface: 'webhook' }, action: { type: 'drop' }, first: 3 }],
      });
      const { connectionId } = hook;
      const ids: string[] = [];
      for (let index = 0; index < 5; index += 1) {
        const { body } = await hook.write();
        ids.push(body.messageId);
      }
      const { body: page } = await hook.call('GET', '/ledger?limit=3');
      for (const entry of page.entries) readExactly(ledgerEntry, entry);
      expect(page.entries.map(({ seq }: { seq: number }) => seq)).toEqual([1, 2, 3]);
      const { body: rest } = await hook.call('GET', `/ledger?after=${page.nextCursor}&limit=3`);
      expect(rest.nextCursor).toBeUndefined();
      const all = [...page.entries, ...rest.entries];
      expect(all.map(({ messageId }) => messageId)).toEqual(ids);
      expect(all[0]).toMatchObject({
        event: 'message.received',
        connectionId,
        payload: { message: { id: ids[0] } },
      });
      expect(all[0].status).toBeUndefined();

      const seqs = async (query: string): Promise<[number[], string | undefined]> => {
        const { entries, nextCursor } = (await hook.call('GET', `/ledger?${query}`)).body;
        return [entries.map(({ seq }: { seq: number }) => seq), nextCursor];
      };
      expect(await seqs('order=newest&limit=3')).toEqual([[5, 4, 3], '3']);
      expect(await seqs('order=newest&limit=3&before=3')).toEqual([[2, 1], undefined]);
      expect(await seqs('order=newest&after=3')).toEqual([[5, 4], undefined]);
      expect(await seqs('before=3')).toEqual([[1, 2], undefined]);
      expect(await seqs('order=oldest&after=4')).toEqual([[5], undefined]);
    });
  });

  describe('tunnels', () => {
    it('direct a public host to this machine until they are closed', async () => {
      const put = await hook.call('PUT', '/hosts/CRM.Example.com', { target: `${hook.receiver.origin}/` });
      expect(put.body).toEqual({ host: 'crm.example.com', target: hook.receiver.origin });
      expect(hook.ports.hosts.target('crm.example.com')).toBe(hook.receiver.origin);
      expect((await hook.call('DELETE', '/hosts/crm.example.com')).body).toEqual({ ok: true });
      expect(hook.ports.hosts.target('crm.example.com')).toBeUndefined();
      expect((await hook.call('DELETE', '/hosts/crm.example.com')).status).toBe(404);
    });

    it.each(['localhost', '10.0.0.1', 'intranet', '[::1]', 'crm.example.com:8443', 'a..example.com'])(
      'are refused for %s',
      async (host) => {
        const { status, body } = await hook.call('PUT', `/hosts/${encodeURIComponent(host)}`, {
          target: hook.receiver.origin,
        });
        expect({ status, field: body.field }).toEqual({ status: 400, field: 'host' });
      },
    );

    it.each([
      'http://93.184.216.34:80',
      'http://crm.example.com',
      'https://127.0.0.1:4020',
      'http://127.0.0.1:4020/path',
      'http://user@127.0.0.1:4020',
    ])('cannot lead to %s', async (target) => {
      const { status, body } = await hook.call('PUT', '/hosts/crm.example.com', { target });
      expect({ status, field: body.field }).toEqual({ status: 400, field: 'target' });
    });

    it('are listed, with those of the configuration', async () => {
      hook.ports.hosts.pin('connector.example.com', 'http://127.0.0.1:4020');
      const connector = { host: 'connector.example.com', target: 'http://127.0.0.1:4020' };
      const crm = { host: 'crm.example.com', target: hook.receiver.origin };
      expect((await hook.call('GET', '/hosts')).body).toEqual({ entries: [connector, crm] });
      await hook.call('PUT', '/hosts/connector.example.com', { target: hook.receiver.origin });
      const moved = { ...connector, target: hook.receiver.origin };
      expect((await hook.call('GET', '/hosts')).body).toEqual({ entries: [moved, crm] });
      for (const entries of [[connector, crm], [crm]]) {
        await hook.call('DELETE', '/hosts/connector.example.com');
        expect((await hook.call('GET', '/hosts')).body).toEqual({ entries });
      }
    });

    it('are suggested by the record of an attempt to an unknown name', () => {
      const record: DeliveryRecord = {
        id: 1,
        eventId: 1,
        subscriptionId: 'cworkspace',
        workspaceId: 'cworkspace',
        event: 'message.received',
        connectionId: 'cconnection',
        messageId: 'cmessage',
        url: 'https://Acme.example:8443/hooks?a=1',
        outcome: 'pending',
        reason: null,
        createdAt: 0,
        held: false,
        made: 2,
        envelope: null,
        headers: {},
        body: '{}',
        attempts: [
          { at: 0, ms: 1, error: 'name_not_resolved' },
          { at: 0, ms: 1, error: 'timeout' },
        ],
        variantOf: null,
      };
      expect(presentDelivery(record).attempts.map(({ error }) => error)).toEqual([
        'name_not_resolved; PUT /sandbox/v1/hosts/acme.example opens a tunnel',
        'timeout',
      ]);
    });

    it('closed ones are saved and restored, as hidden workspaces are', () => {
      const [before, after] = [createSandboxPorts(), createSandboxPorts()];
      for (const { hosts } of [before, after]) hosts.pin('connector.example.com', 'http://127.0.0.1:4020');
      before.hosts.remove('connector.example.com');
      before.hide('w1');
      after.load(before.save());
      expect([after.hosts.all(), after.hidden()]).toEqual([[], ['w1']]);
    });

    it('of the configuration are restored by a reset, and those added later are deleted', async () => {
      hook.ports.hosts.pin('connector.example.com', 'http://127.0.0.1:4020');
      await hook.call('DELETE', '/hosts/connector.example.com');
      expect(hook.ports.hosts.target('connector.example.com')).toBeUndefined();
      await hook.call('POST', '/reset');
      expect(hook.ports.hosts.target('connector.example.com')).toBe('http://127.0.0.1:4020');
      expect(hook.ports.hosts.target('crm.example.com')).toBeUndefined();
    });
  });

  describe('its access control', () => {
    it('creates workspaces, connections and keys', async () => {
      const { status, body } = await hook.call('POST', '/workspaces', { kind: 'crm_portal' });
      expect({ status, body }).toEqual({
        status: 201,
        body: { workspace: { id: expect.any(String), kind: 'crm_portal' } },
      });
      const { id } = body.workspace;
      const connection = await hook.call('POST', `/workspaces/${id}/connections`, {
        provider: 'cloud_api',
        phoneNumber: '4930123456',
        label: 'Berlin',
      });
      expect({ status: connection.status, body: connection.body }).toEqual({
        status: 201,
        body: { connection: { id: expect.any(String) } },
      });
      const made = await hook.call('POST', `/workspaces/${id}/api-keys`, { scopes: ['messaging.read'] });
      expect(made.status).toBe(201);
      const { key } = readExactly(createdApiKey, made.body);
      const { body: list } = await hook.service.call('GET', '/connections', { key });
      expect(list).toMatchObject({ connections: [{ id: connection.body.connection.id, label: 'Berlin' }] });
      expect((await hook.service.call('GET', '/webhook', { key })).status).toBe(403);
    });

    it('restricts and revokes keys with effect from the next call, and never shows one again', async () => {
      proves('auth.key.shown-once');
      const { body } = await hook.call('POST', `/workspaces/${hook.sandbox.seed.workspaceId}/api-keys`);
      const call = () => hook.service.call('GET', '/webhook', { key: body.key });
      expect((await call()).status).toBe(200);
      const narrowed = await hook.call('PATCH', `/api-keys/${body.id}`, { scopes: ['messaging.read'] });
      expect(narrowed.body).toEqual({
        id: body.id,
        scopes: ['messaging.read'],
        ipAllowlist: null,
        connectionIds: null,
      });
      expect((await call()).status).toBe(403);
      expect((await hook.call('DELETE', `/api-keys/${body.id}`)).body).toEqual({ ok: true });
      expect((await call()).status).toBe(401);
      expect((await hook.call('PATCH', `/api-keys/${body.id}`, { scopes: [] })).status).toBe(404);
      expect((await hook.call('DELETE', '/api-keys/cnothing')).status).toBe(404);
      const told = [await hook.call('GET', '/calls?limit=100'), await hook.call('GET', '/info')];
      const text = JSON.stringify(told.map((answer) => answer.body));
      expect([text.includes(body.id), text.includes(body.key)]).toEqual([true, false]);
    });

    it('adds a connection with a warm-up on request, and without one by default', async () => {
      const { workspaceId, apiKey: key } = hook.sandbox.seed;
      const add = (fields: object) => hook.call('POST', `/workspaces/${workspaceId}/connections`, fields);
      const capOf = async ({ body: { connection } }: SandboxAnswer): Promise<number | undefined> =>
        (await hook.call('GET', `/connections/${connection.id}`)).body.warmup?.perHour;
      const fresh = await add({ provider: 'qr', phoneNumber: '447700900181', warmup: true });
      expect(await capOf(fresh)).toBe(30);
      const old = await add({ provider: 'qr', phoneNumber: '447700900182' });
      expect(await capOf(old)).toBeUndefined();
      await hook.service.call('DELETE', `/connections/${old.body.connection.id}`, { key });
      // Only a number that pairs for the first time has one.
      const anew = await add({ provider: 'qr', phoneNumber: '447700900182', warmup: true });
      expect(await capOf(anew)).toBeUndefined();
      const cloud = await add({ provider: 'cloud_api', phoneNumber: '447700900183', warmup: true });
      expect(cloud).toMatchObject({ status: 400, body: { field: 'warmup' } });
    });
  });
});

describe('targets of tunnels that were allowed at the start', () => {
  const test = ofFile(() =>
    startTestSandbox({ tunnelTargets: ['10.1.0.0/16', 'fd00::/8', 'crm', '192.168.7.7'] }),
  );
  const put = (target: string) => test.call('PUT', '/hosts/crm.example.com', { target });

  it.each([
    'http://10.1.2.3:3000',
    'http://[fd00::5]:3000',
    'http://crm:3000',
    'http://CRM',
    'http://192.168.7.7:1',
    'http://127.0.0.1:4020',
    'http://localhost:4020',
  ])('include %s', async (target) => {
    expect((await put(target)).status).toBe(200);
  });

  it.each(['http://10.2.2.3:3000', 'http://crm.internal:3000', 'http://169.254.169.254', 'https://crm:3000'])(
    'do not include %s',
    async (target) => {
      const { status, body } = await put(target);
      expect({ status, field: body.field }).toEqual({ status: 400, field: 'target' });
    },
  );

  it('are removed by a start that no longer allows them', async () => {
    await put('http://10.1.2.3:3000');
    await test.call('PUT', '/hosts/other.example.com', { target: 'http://127.0.0.1:4020' });
    const { ports } = await test.again();
    expect(ports.hosts.list()).toEqual([{ host: 'other.example.com', target: 'http://127.0.0.1:4020' }]);
  });
});

describe('a reset', () => {
  it('returns to the seed with new ids, keeps the time, and clears the attached connector', async () => {
    const seeds: unknown[] = [];
    const test = await startTestSandbox({
      connector: {
        token: 'a token',
        async reset(resetService) {
          // Until it has stopped, its key is valid.
          seeds.push(test.sandbox.seed);
          await resetService();
          seeds.push(test.sandbox.seed);
        },
      },
    });
    const before = test.sandbox.seed;
    await test.call('POST', '/clock/advance', { ms: 86_400_000 });
    await test.call('PUT', '/faults', {
      seed: 7,
      rules: [{ id: 'lose', match: { surface: 'webhook' }, action: { type: 'drop' } }],
    });
    const now = test.service.platform.time.now();
    const { status, body } = await test.call('POST', '/reset');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      ...test.sandbox.seed,
      connectorToken: 'a token',
      now: new Date(now).toISOString(),
    });
    expect(test.sandbox.seed.workspaceId).not.toBe(before.workspaceId);
    expect(test.sandbox.seed.apiKey).not.toBe(before.apiKey);
    expect(seeds).toEqual([before, test.sandbox.seed]);
    expect((await test.service.call('GET', '/connections', { key: before.apiKey })).status).toBe(401);
    const { body: list } = await test.api('GET', '/connections');
    expect(list).toMatchObject({ connections: { length: 4 } });
    expect((await test.call('GET', '/faults')).body).toEqual({ seed: 1, rules: [] });
    expect((await test.call('GET', '/ledger')).body).toEqual({ entries: [] });
    expect((await test.call('GET', '/deliveries')).body).toEqual({ entries: [] });
    await test.close();
  });

  it('leaves no row behind that the seed does not create', async () => {
    const { database } = hook.service;
    const tables = await database.query<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'platform'`,
    );
    const countRows = async () => {
      const counts: Record<string, number> = {};
      for (const { name } of tables) {
        const [row] = await database.query<{ count: number }>(
          `SELECT count(*)::integer AS count FROM platform."${name}"`,
        );
        counts[name] = row?.count ?? 0;
      }
      return counts;
    };
    await hook.call('POST', '/reset');
    const fresh = await countRows();
    const connectionId = await hook.qrConnection();
    const media = { filename: 'a.txt', mimetype: 'text/plain', data: 'aGVsbG8=' };
    const to = '491700000002';
    await hook.api('POST', '/connections', { label: 'new' }, { headers: { 'Idempotency-Key': 'k' } });
    await hook.api('POST', '/messages', { connectionId, to, text: 'hello', idempotencyKey: 'k' });
    await hook.api('POST', '/messages', { connectionId, to, media });
    await hook.call('POST', `/contacts/${to}/messages`, { connectionId, media });
    await hook.call('PUT', `/contacts/${to}`, { readAfterMs: null });
    await hook.call('POST', `/connections/${connectionId}/phone`, { blocked: [to] });
    await hook.call('POST', `/connections/${connectionId}/outage`, { cause: 'zombie' });
    await hook.call('POST', `/contacts/491700000003/messages`, { connectionId, text: 'kept' });
    await hook.service.platform.delivery.settle();
    await hook.api('PUT', '/webhook', { url: HOOK });
    const played = await countRows();
    const grown = Object.keys(played).filter((name) => (played[name] ?? 0) > (fresh[name] ?? 0));
    expect(grown.length).toBeGreaterThan(6);

    await hook.call('POST', '/reset');
    expect(await countRows()).toEqual(fresh);
    expect((await hook.call('GET', '/calls')).body).toEqual({ entries: [] });
  });

  it('runs one at a time if several are requested', async () => {
    const answers = await Promise.all(Array.from({ length: 4 }, () => hook.call('POST', '/reset')));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const rows = await hook.service.database.query('SELECT id FROM platform.workspaces');
    expect(rows).toEqual([{ id: hook.sandbox.seed.workspaceId }]);
  });

  it('keeps the configured webhook secret for each webhook of the seeded workspace, and for no other', async () => {
    const test = await startTestSandbox({ webhookSecret: 'a secret from the environment' });
    const put = async () => (await test.api('PUT', '/webhook', { url: HOOK })).body.secret;
    expect(await put()).toBe('a secret from the environment');
    expect(await put()).toBe('a secret from the environment');
    const rotated = await test.api('POST', '/webhook/rotate');
    expect(rotated.body).not.toEqual({ secret: 'a secret from the environment' });
    await test.call('POST', '/reset');
    expect(await put()).toBe('a secret from the environment');
    const { body } = await test.call('POST', '/workspaces', { kind: 'standalone' });
    const { body: other } = await test.call('POST', `/workspaces/${body.workspace.id}/api-keys`);
    const { body: foreign } = await test.service.call('PUT', '/webhook', {
      key: other.key,
      body: { url: HOOK },
    });
    expect(foreign).not.toMatchObject({ secret: 'a secret from the environment' });
    await test.close();
  });
});
