import { describe, expect, test } from 'vitest';
import { connectionConnectedEvent } from '../../../src/contract/service/events.ts';
import { generateNumber } from '../../../src/platform/connections/pairing/paired-numbers.ts';
import { addConnection, readExactly, seedWorkspace } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';
import { useLife } from './life-fixture.ts';

const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('pairing a connection', () => {
  const life = useLife();

  describe('detail', () => {
    test('has the documented keys with their aliases, and a QR code until the connection is connected', async () => {
      proves('connections.get.answer', 'connections.detail.exact', 'connections.detail.id');
      proves('connections.detail.status', 'connections.detail.phoneNumber', 'connections.detail.label');
      proves('connections.detail.provider', 'connections.detail.licenseStatus');
      proves('connections.detail.licenseExpires', 'connections.detail.qr', 'connections.detail.phone');
      proves('connections.detail.license_status', 'connections.detail.license_expires');
      proves('state.values');
      proves('choice.qr.absent', 'choice.aliases');
      const { key, id } = await life.begin();
      expect(await life.detail(key, id)).toStrictEqual({
        id,
        status: 'connecting',
        phoneNumber: null,
        label: '',
        provider: 'qr',
        licenseStatus: 'none',
        licenseExpires: null,
        qr: expect.any(String),
        phone: null,
        license_status: 'none',
        license_expires: null,
      });
      await life.pair(key, id, '447700900131');
      const ends = new Date(life.service.platform.time.now() + 7 * DAY).toISOString();
      expect(await life.detail(key, id)).toStrictEqual({
        id,
        status: 'connected',
        phoneNumber: '447700900131',
        label: '447700900131',
        provider: 'qr',
        licenseStatus: 'trial',
        licenseExpires: ends,
        phone: '447700900131',
        license_status: 'trial',
        license_expires: ends,
      });
    });

    test('every read returns a new QR code with the connection and the time, and each is valid for its 20 s', async () => {
      proves('connections.get.qr-new', 'connections.create.rotation');
      proves('limits.qr-rotation');
      proves('choice.qr.earlier');
      const { key, id } = await life.begin();
      await life.service.platform.time.freeze();
      const now = life.service.platform.time.now();
      const early = await life.qrOf(key, id);
      const twin = await life.qrOf(key, id);
      expect(twin).not.toBe(early);
      expect(early).toContain(`:${id.toUpperCase()}.${now.toString(36).toUpperCase()}.`);
      await life.advance(20 * SECOND - 1);
      const late = await life.qrOf(key, id);
      expect(await life.qrOf(key, id)).not.toBe(late);
      await life.advance(1);
      expect(await life.phones().scan(id, early)).toBe('expired');
      expect(await life.phones().scan(id, twin)).toBe('expired');
      expect(await life.phones().scan(id, late)).toBe('paired');
      await life.service.platform.time.run();
    });

    test('is returned without a license, and never with a QR code for a cloud_api connection', async () => {
      const { key, workspaceId, connectionId } = await seedWorkspace(life.service);
      await life.service.platform.licenses.set(connectionId, { status: 'expired' });
      expect(await life.detail(key, connectionId)).toMatchObject({
        status: 'connected',
        licenseStatus: 'expired',
      });
      const cloud = await addConnection(life.service, workspaceId, '447700900104', 'cloud_api');
      expect(await life.detail(key, cloud.id)).toMatchObject({ provider: 'cloud_api', status: 'connected' });
      expect(await life.detail(key, cloud.id)).not.toHaveProperty('qr');
    });
  });

  describe('pairing', () => {
    test('a scan connects, takes a slot, starts the trial and the warm-up, and sends no event', async () => {
      proves('state.paired.scan', 'state.paired.silent', 'service.slot.attaches', 'service.qr.pairs');
      const { key, id } = await life.begin();
      expect(await life.listed(key)).toEqual([]);
      await life.pair(key, id, '447700900131');
      expect(await life.detail(key, id)).toMatchObject({ status: 'connected', licenseStatus: 'trial' });
      expect(await life.listed(key)).toMatchObject([{ id, status: 'open', isDefault: true }]);
      expect(await life.account(key)).toMatchObject({
        slots: { total: 10, used: 1, available: 9 },
        connections: { total: 1, connected: 1, needsReconnect: 0 },
      });
      expect(await life.warmupOf(id)).toBe(life.service.platform.time.now() + 72 * HOUR);
      expect(await life.toldOf(id)).toEqual([]);
    });

    test('without a number, a different one is generated for each connection', async () => {
      const { key, id } = await life.begin();
      const second = await life.create(key);
      await life.pair(key, id);
      await life.pair(key, second);
      const [one, other] = [await life.detail(key, id), await life.detail(key, second)];
      expect(one.phoneNumber).toMatch(/^447700900\d{3}$/);
      expect(other.phoneNumber).toMatch(/^447700900\d{3}$/);
      expect(other.phoneNumber).not.toBe(one.phoneNumber);
    });

    test('a generated number is one that no connection of the workspace has', async () => {
      const { key, id, workspaceId } = await life.begin();
      const { database, platform } = life.service;
      const taken = (await generateNumber(database, { id, workspaceId })) ?? '';
      await platform.connections.createPaired(workspaceId, { provider: 'qr', phoneNumber: taken });
      expect(await life.phones().scan(id, null)).toBe('paired');
      expect((await life.detail(key, id)).phoneNumber).not.toBe(taken);
    });

    test('a QR code of another connection, of other content, or with a changed character does not pair', async () => {
      const { key, id } = await life.begin();
      const other = await life.create(key);
      expect(await life.phones().scan(id, await life.qrOf(key, other))).toBe('other_connection');
      expect(await life.phones().scan(id, 'https://example.com')).toBe('no_ticket');
      const text = await life.qrOf(key, id);
      const forged = text.slice(0, -1) + (text.endsWith('0') ? '1' : '0');
      expect(await life.phones().scan(id, forged)).toBe('expired');
      expect((await life.detail(key, id)).status).toBe('connecting');
    });

    test('a phone without an account on the network does not pair', async () => {
      const { key, id } = await life.begin();
      await life.service.platform.contacts.put('447700900199', { onNetwork: false });
      expect(await life.phones().scan(id, await life.qrOf(key, id), '447700900199')).toBe('no_account');
    });

    test('a number pairs once in each workspace', async () => {
      const { key, id } = await life.begin();
      await life.pair(key, id, '447700900131');
      const second = await life.create(key);
      expect(await life.phones().scan(second, await life.qrOf(key, second), '447700900131')).toBe(
        'number_taken',
      );
      const other = await life.begin();
      await life.pair(other.key, other.id, '447700900131');
    });

    test('a connection keeps its number', async () => {
      const { key, id } = await life.begin();
      await life.pair(key, id, '447700900131');
      await life.on(key, 'POST', id, '/logout');
      expect(await life.phones().scan(id, await life.qrOf(key, id), '447700900132')).toBe('wrong_number');
      const code = await life.codeOf(key, id, '447700900132');
      expect(await life.phones().enterCode(id, code)).toBe('wrong_number');
      await life.pair(key, id, '447700900131');
    });

    test('a live, unknown or cloud_api connection does not pair', async () => {
      proves('service.cloud-api.no-pairing');
      const { key, id, workspaceId } = await life.begin();
      const shown = await life.qrOf(key, id);
      await life.pair(key, id);
      await expect(life.phones().scan(id, shown)).rejects.toMatchObject({ code: 'already_connected' });
      await expect(life.phones().enterCode(id, 'AAAA-AAAA')).rejects.toMatchObject({
        code: 'already_connected',
      });
      await expect(life.phones().scan('cnothing', shown)).rejects.toMatchObject({ code: 'not_found' });
      const cloud = await addConnection(life.service, workspaceId, '447700900104', 'cloud_api');
      await expect(life.phones().scan(cloud.id, shown)).rejects.toMatchObject({
        code: 'not_supported_for_provider',
      });
    });

    test('QR codes shown before a pairing are invalid after it', async () => {
      const { key, id } = await life.begin();
      const shown = await life.qrOf(key, id);
      await life.pair(key, id);
      await life.on(key, 'POST', id, '/logout');
      expect(await life.phones().scan(id, shown)).toBe('expired');
    });

    test('a number has one warm-up in its workspace, however often it pairs', async () => {
      const { key, id } = await life.begin();
      await life.pair(key, id, '447700900131');
      const first = await life.warmupOf(id);
      await life.advance(HOUR);
      await life.on(key, 'POST', id, '/logout');
      await life.pair(key, id);
      expect(await life.warmupOf(id)).toBe(first);
      await life.on(key, 'DELETE', id);
      const next = await life.create(key);
      await life.pair(key, next, '447700900131');
      expect(await life.warmupOf(next)).toBe(first);
    });

    test('a number added by the sandbox has no warm-up', async () => {
      const { connectionId, key } = await seedWorkspace(life.service);
      expect(await life.warmupOf(connectionId)).toBeNull();
      await life.on(key, 'POST', connectionId, '/logout');
      await life.pair(key, connectionId);
      expect(await life.warmupOf(connectionId)).toBeNull();
    });

    test('pairing again after a reported outage is reported once, and the connection keeps its license', async () => {
      proves('state.paired.reported', 'events.disconnected.qr-by-get');
      const { key, id } = await life.begin();
      await life.pair(key, id, '447700900131');
      const { licenseExpires } = await life.detail(key, id);
      await life.breakDown(id);
      expect(await life.detail(key, id)).toMatchObject({ status: 'disconnected', qr: expect.any(String) });
      await life.pair(key, id);
      expect(await life.eventsOf(id)).toEqual(['connection.disconnected', 'connection.connected']);
      const [, back] = await life.toldOf(id);
      const told = readExactly(connectionConnectedEvent, back?.payload);
      expect(told.connection).toMatchObject({
        id,
        phone_number: '447700900131',
        status: 'connected',
        needs_reconnect: false,
        license_status: 'trial',
        reason: null,
      });
      expect(await life.detail(key, id)).toMatchObject({ status: 'connected', licenseExpires });
    });

    test('works without a license, and then sends no event', async () => {
      proves('choice.unlicensed.allowed');
      const { key, id } = await life.begin();
      await life.pair(key, id);
      await life.service.platform.licenses.set(id, { status: 'expired' });
      const { status } = await life.on(key, 'GET', id);
      const calls = [
        await life.on(key, 'POST', id, '/logout'),
        await life.on(key, 'POST', id, '/restart'),
        await life.on(key, 'POST', id, '/pairing-code', { phoneNumber: '447700900131' }),
      ];
      expect([status, ...calls.map((call) => call.status)]).toEqual([200, 200, 200, 200]);
      await life.pair(key, id);
      expect(await life.detail(key, id)).toMatchObject({ status: 'connected', licenseStatus: 'expired' });
      expect(await life.toldOf(id)).toEqual([]);
    });
  });
});
