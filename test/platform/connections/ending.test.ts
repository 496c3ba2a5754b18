import { describe, expect, test } from 'vitest';
import { addConnection, seedWorkspace } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';
import { useLife } from './life-fixture.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const BROKEN_AND_BACK = ['connection.disconnected', 'connection.connected'];

describe('restart, logout and deletion', () => {
  const life = useLife();

  describe('restart', () => {
    test('of a working session reconnects it: nothing changes and no event is sent', async () => {
      proves('connections.restart.answer', 'connections.restart.keeps-record', 'shapes.restart');
      const { key, connectionId } = await seedWorkspace(life.service);
      const before = await life.detail(key, connectionId);
      const restarted = await life.answers(life.on(key, 'POST', connectionId, '/restart'));
      expect(restarted).toEqual([200, { ok: true, recreated: false }]);
      expect(await life.detail(key, connectionId)).toEqual(before);
      expect(await life.toldOf(connectionId)).toEqual([]);
    });

    test('of a session that heals keeps its credentials, whatever broke it', async () => {
      const { key, connectionId } = await seedWorkspace(life.service);
      await life.service.platform.outages.begin(connectionId, { cause: 'session_lost', heals: true });
      const restarted = await life.answers(life.on(key, 'POST', connectionId, '/restart'));
      expect(restarted).toEqual([200, { ok: true, recreated: false }]);
    });

    test('of a lost session requires a new scan: the status is connecting, QR codes are shown, and the connection is kept', async () => {
      proves('connections.restart.keeps-record', 'connections.restart.new-qr');
      proves('state.restart.connecting', 'state.restart.poll');
      const { key, id } = await life.begin();
      await life.pair(key, id, '447700900131');
      await life.breakDown(id);
      const shown = await life.qrOf(key, id);
      const code = await life.codeOf(key, id, '447700900131');
      const restarted = await life.answers(life.on(key, 'POST', id, '/restart'));
      expect(restarted).toEqual([200, { ok: true, recreated: true }]);
      expect(await life.detail(key, id)).toMatchObject({
        id,
        status: 'connecting',
        phoneNumber: '447700900131',
        licenseStatus: 'trial',
      });
      expect(await life.account(key)).toMatchObject({ connections: { connected: 0, needsReconnect: 1 } });
      expect(await life.phones().scan(id, shown)).toBe('expired');
      expect(await life.phones().enterCode(id, code)).toBe('expired');
      await life.pair(key, id);
      expect(await life.eventsOf(id)).toEqual(BROKEN_AND_BACK);
    });

    test('of a session that the network still knows reconnects it, and one event reports this', async () => {
      const { key, id } = await life.begin();
      await life.pair(key, id);
      await life.service.platform.outages.begin(id, { cause: 'zombie' });
      await life.advance(20 * MINUTE);
      expect((await life.detail(key, id)).status).toBe('disconnected');
      expect((await life.on(key, 'POST', id, '/restart')).body).toEqual({ ok: true, recreated: false });
      expect((await life.detail(key, id)).status).toBe('connected');
      await life.advance(DAY);
      expect(await life.eventsOf(id)).toEqual(BROKEN_AND_BACK);
    });

    test('detects a dead session that is shown as live, and one event reports this', async () => {
      const { key, id } = await life.begin();
      await life.pair(key, id);
      await life.service.platform.outages.begin(id, { cause: 'session_ageing' });
      expect((await life.detail(key, id)).status).toBe('connected');
      expect((await life.on(key, 'POST', id, '/restart')).body).toEqual({ ok: true, recreated: true });
      expect((await life.detail(key, id)).status).toBe('connecting');
      await life.advance(HOUR);
      expect((await life.toldOf(id)).map(({ payload }) => payload)).toMatchObject([
        {
          event: 'connection.disconnected',
          connection: { status: 'disconnected', needs_reconnect: true, reason: 'HEAL_GIVEUP' },
        },
      ]);
    });

    test('of a connection that has never paired starts the pairing again', async () => {
      const { key, id } = await life.begin();
      const shown = await life.qrOf(key, id);
      expect((await life.on(key, 'POST', id, '/restart')).body).toEqual({ ok: true, recreated: true });
      expect(await life.detail(key, id)).toMatchObject({ status: 'connecting', phoneNumber: null });
      expect(await life.account(key)).toMatchObject({ connections: { needsReconnect: 0 } });
      expect(await life.phones().scan(id, shown)).toBe('expired');
      await life.pair(key, id);
    });

    test('works without a license, and changes nothing for a cloud_api connection', async () => {
      const { key, workspaceId, connectionId } = await seedWorkspace(life.service);
      await life.service.platform.licenses.set(connectionId, { status: 'expired' });
      expect((await life.on(key, 'POST', connectionId, '/restart')).status).toBe(200);
      const cloud = await addConnection(life.service, workspaceId, '447700900104', 'cloud_api');
      expect((await life.on(key, 'POST', cloud.id, '/restart')).body).toEqual({ ok: true, recreated: false });
      expect((await life.detail(key, cloud.id)).status).toBe('connected');
    });
  });

  describe('logout', () => {
    test('ends the session, keeps the connection and its license, sends no event, and is undone by a restart and a scan', async () => {
      proves('connections.logout.answer', 'connections.logout.keeps-record', 'connections.logout.clears');
      proves('shapes.acknowledgement');
      proves('state.logout.session', 'state.logout.record', 'state.logout.return');
      proves('choice.logout.silent', 'choice.logout.status');
      const { key, id } = await life.begin();
      await life.pair(key, id, '447700900131');
      const before = await life.detail(key, id);
      expect(await life.answers(life.on(key, 'POST', id, '/logout'))).toEqual([200, { ok: true }]);
      expect(await life.detail(key, id)).toEqual({
        ...before,
        status: 'disconnected',
        qr: expect.any(String),
      });
      expect(await life.account(key)).toMatchObject({
        slots: { used: 1 },
        connections: { total: 1, connected: 0, needsReconnect: 1 },
      });
      const send = { connectionId: id, to: '4915500000001', text: 'hello' };
      expect((await life.service.call('POST', '/messages', { key, body: send })).status).toBe(502);
      await life.advance(DAY);
      expect((await life.on(key, 'POST', id, '/restart')).body).toEqual({ ok: true, recreated: true });
      await life.pair(key, id);
      expect(await life.detail(key, id)).toEqual(before);
      expect(await life.toldOf(id)).toEqual([]);
    });

    test('works in any state', async () => {
      proves('state.logout.session');
      const { key, id } = await life.begin();
      const twice = [await life.on(key, 'POST', id, '/logout'), await life.on(key, 'POST', id, '/logout')];
      expect(twice.map(({ status }) => status)).toEqual([200, 200]);
      expect((await life.detail(key, id)).status).toBe('disconnected');
      expect(await life.account(key)).toMatchObject({ connections: { needsReconnect: 0 } });
      await life.pair(key, id);
      await life.breakDown(id);
      expect((await life.on(key, 'POST', id, '/logout')).status).toBe(200);
      await life.pair(key, id);
      expect(await life.eventsOf(id)).toEqual(BROKEN_AND_BACK);
    });

    test('ends an undetected outage without an event', async () => {
      const { key, id } = await life.begin();
      await life.pair(key, id);
      await life.service.platform.outages.begin(id, { cause: 'phone_off' });
      await life.on(key, 'POST', id, '/logout');
      await life.advance(HOUR);
      expect(await life.toldOf(id)).toEqual([]);
    });

    test('is refused for a cloud_api connection, which no call could reconnect', async () => {
      const { key, workspaceId } = await seedWorkspace(life.service);
      const cloud = await addConnection(life.service, workspaceId, '447700900104', 'cloud_api');
      const refused = await life.answers(life.on(key, 'POST', cloud.id, '/logout'));
      expect(refused).toEqual([409, { error: 'not_supported_for_provider' }]);
      expect((await life.detail(key, cloud.id)).status).toBe('connected');
    });
  });

  describe('deletion', () => {
    test('is permanent: the connection and its messages are gone everywhere, and no later call restores them', async () => {
      proves('connections.delete.answer', 'connections.delete.permanent');
      proves('shapes.acknowledgement');
      proves('state.delete.gone', 'state.delete.id-retired');
      const { key, id } = await life.begin();
      await life.pair(key, id);
      const send = { connectionId: id, to: '4915500000001', text: 'hello' };
      expect((await life.service.call('POST', '/messages', { key, body: send })).status).toBe(200);
      await life.service.platform.messages.receive(id, { from: '4915500000001', text: 'hi' });
      expect(await life.answers(life.on(key, 'DELETE', id))).toEqual([200, { ok: true }]);
      const gone = [404, { error: 'not_found' }];
      expect(await life.answers(life.on(key, 'GET', id))).toEqual(gone);
      expect(await life.answers(life.on(key, 'DELETE', id))).toEqual(gone);
      expect(await life.answers(life.on(key, 'POST', id, '/restart'))).toEqual(gone);
      expect(await life.answers(life.on(key, 'POST', id, '/logout'))).toEqual(gone);
      const ask = life.on(key, 'POST', id, '/pairing-code', { phoneNumber: '4915112345678' });
      expect(await life.answers(ask)).toEqual(gone);
      expect(await life.listed(key)).toEqual([]);
      await life.advance(DAY);
      const { body } = await life.service.call('GET', '/messages', { key });
      expect(body).toEqual({ messages: [], nextCursor: null, hasMore: false });
      const rows = await life.service.database.query(
        'SELECT 1 FROM platform.messages WHERE connection_id = $1',
        [id],
      );
      expect(rows).toEqual([]);
      await expect(life.phones().enterCode(id, 'AAAA-AAAA')).rejects.toMatchObject({ code: 'not_found' });
    });

    test('returns the slot with its remaining time: the next number that pairs takes it, and an unused one starts a trial', async () => {
      proves('state.delete.slot');
      proves('choice.slot.inherited', 'choice.next-expiry');
      proves('service.slot.capacity', 'service.slot.returns', 'service.standalone.trial');
      proves('limits.trial');
      const { key, id } = await life.begin(2);
      const start = life.service.platform.time.now();
      const inDays = (days: number): string => new Date(start + days * DAY).toISOString();
      await life.pair(key, id);
      const licenseExpires = inDays(7);
      expect(await life.detail(key, id)).toMatchObject({ licenseStatus: 'trial', licenseExpires });
      await life.advance(2 * DAY);
      await life.on(key, 'DELETE', id);
      expect(await life.account(key)).toMatchObject({
        slots: { used: 0, available: 2 },
        connections: { total: 0 },
      });
      const [next, fresh] = [await life.create(key), await life.create(key)];
      await life.pair(key, next);
      await life.pair(key, fresh);
      expect(await life.detail(key, next)).toMatchObject({ licenseStatus: 'trial', licenseExpires });
      expect(await life.detail(key, fresh)).toMatchObject({
        licenseStatus: 'trial',
        licenseExpires: inDays(9),
      });
      expect(await life.account(key)).toMatchObject({
        slots: { total: 2, used: 2, available: 0, nextExpiry: inDays(7) },
      });
    });

    test('works in any state, with or without a license, for either provider', async () => {
      proves('state.delete.gone', 'choice.unlicensed.allowed');
      const { key, id: connecting } = await life.begin();
      const { workspaceId, connectionId: unlicensed, key: other } = await seedWorkspace(life.service);
      const cloud = await addConnection(life.service, workspaceId, '447700900104', 'cloud_api');
      await life.service.platform.licenses.set(unlicensed, { status: 'expired' });
      await life.breakDown(unlicensed);
      expect((await life.on(key, 'DELETE', connecting)).status).toBe(200);
      expect((await life.on(other, 'DELETE', unlicensed)).status).toBe(200);
      expect((await life.on(other, 'DELETE', cloud.id)).status).toBe(200);
    });

    test('of the default connection makes the oldest remaining one the default', async () => {
      const { key, id } = await life.begin();
      const [second, third] = [await life.create(key), await life.create(key)];
      await life.pair(key, second);
      await life.pair(key, third);
      await life.pair(key, id);
      const defaults = async () =>
        (await life.listed(key)).filter(({ isDefault }) => isDefault).map((item) => item.id);
      expect(await defaults()).toEqual([second]);
      await life.on(key, 'DELETE', second);
      expect(await defaults()).toEqual([id]);
    });

    test('frees the number for another connection', async () => {
      const { key, id } = await life.begin();
      await life.pair(key, id, '447700900131');
      await life.on(key, 'DELETE', id);
      const next = await life.create(key);
      await life.pair(key, next, '447700900131');
      expect(await life.detail(key, next)).toMatchObject({
        status: 'connected',
        phoneNumber: '447700900131',
      });
    });
  });

  describe('several at once', () => {
    /** No fault of the service, whatever comes first. */
    const expectNoFault = (statuses: readonly number[]) => {
      expect(statuses.filter((status) => ![200, 404, 409].includes(status))).toEqual([]);
    };
    const outcomeOf = (scan: Promise<string>) =>
      scan.catch((error: { code?: string }) => error.code ?? String(error));

    test('two scans of one QR code pair once', async () => {
      const { key, id } = await life.begin();
      const text = await life.qrOf(key, id);
      const scans = ['447700900131', '447700900132'].map((number) =>
        outcomeOf(life.phones().scan(id, text, number)),
      );
      expect((await Promise.all(scans)).sort()).toEqual(['already_connected', 'paired']);
      expect(await life.account(key)).toMatchObject({ slots: { used: 1 } });
    });

    test('one number that scans two connections pairs with one', async () => {
      const { key, id } = await life.begin();
      const second = await life.create(key);
      const texts = [await life.qrOf(key, id), await life.qrOf(key, second)];
      const scans = [id, second].map((one, index) =>
        life.phones().scan(one, texts[index] ?? '', '447700900131'),
      );
      expect((await Promise.all(scans)).sort()).toEqual(['number_taken', 'paired']);
    });

    test('a scan runs before or after a deletion, a restart or a logout, never at the same time', async () => {
      const { key } = await life.begin();
      for (const [method, what] of [
        ['DELETE', ''],
        ['POST', '/restart'],
        ['POST', '/logout'],
      ] as const) {
        for (let turn = 0; turn < 4; turn += 1) {
          const id = await life.create(key);
          const text = await life.qrOf(key, id);
          const scan = () => outcomeOf(life.phones().scan(id, text));
          const call = async () => (await life.on(key, method, id, what)).status;
          const order = turn % 2 === 0 ? [scan, call] : [call, scan];
          const [one, other] = await Promise.all(order.map((act) => act()));
          const [outcome, status] = turn % 2 === 0 ? [one, other] : [other, one];
          expect(status).toBe(200);
          expect(['paired', 'expired', 'not_found']).toContain(outcome);
          await life.on(key, 'DELETE', id);
        }
      }
      expect(await life.account(key)).toMatchObject({ slots: { used: 0 }, connections: { total: 1 } });
    });

    test('all operations on one connection at once end in one state, without a failure', async () => {
      const { key, id } = await life.begin();
      const text = await life.qrOf(key, id);
      const phoneNumber = '4915112345678';
      const calls = Array.from({ length: 2 }, () => [
        life.on(key, 'POST', id, '/restart'),
        life.on(key, 'POST', id, '/logout'),
        life.on(key, 'POST', id, '/pairing-code', { phoneNumber }),
        life.on(key, 'GET', id),
      ]).flat();
      const scans = [outcomeOf(life.phones().scan(id, text)), outcomeOf(life.phones().scan(id, text))];
      const deletions = [life.on(key, 'DELETE', id), life.on(key, 'DELETE', id)];
      await Promise.all(scans);
      expectNoFault((await Promise.all(calls)).map(({ status }) => status));
      const deleted = (await Promise.all(deletions)).map(({ status }) => status).sort();
      expect(deleted).toEqual([200, 404]);
      expect(await life.account(key)).toMatchObject({ slots: { used: 0 }, connections: { total: 0 } });
    });
  });
});
