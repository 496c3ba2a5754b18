import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectionConnectedEvent } from '../../../src/contract/service/events.ts';
import { readExactly, seedWorkspace, startTestPlatform, type TestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';
import { createLifeFixture } from './life-fixture.ts';

const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('pairing a connection', () => {
  let service: TestPlatform;
  beforeAll(async () => {
    service = await startTestPlatform();
  });
  afterAll(() => service.close());

  const {
    advance,
    phones,
    on,
    begin,
    create,
    detail,
    qrOf,
    codeOf,
    pair,
    account,
    listed,
    toldOf,
    warmupOf,
    breakDown,
  } = createLifeFixture(() => service);

  describe('detail', () => {
    const KEYS = [
      'id',
      'status',
      'phoneNumber',
      'label',
      'provider',
      'licenseStatus',
      'licenseExpires',
      'phone',
      'license_status',
      'license_expires',
    ];

    test(
      'shows the documented keys with their aliases, and a picture until it is connected',
      proves(
        'connections.get.answer',
        'connections.detail.exact',
        'connections.detail.id',
        'connections.detail.status',
        'connections.detail.phoneNumber',
        'connections.detail.label',
        'connections.detail.provider',
        'connections.detail.licenseStatus',
        'connections.detail.licenseExpires',
        'connections.detail.qr',
        'connections.detail.phone',
        'connections.detail.license_status',
        'connections.detail.license_expires',
        'state.values',
      ),
      async () => {
        const { key, id } = await begin();
        const waiting = await detail(key, id);
        expect(Object.keys(waiting).sort()).toEqual([...KEYS, 'qr'].sort());
        expect(waiting).toMatchObject({
          id,
          status: 'connecting',
          phoneNumber: null,
          phone: null,
          label: '',
          provider: 'qr',
          licenseStatus: 'none',
          licenseExpires: null,
        });
        await pair(key, id, '447700900311');
        const paired = await detail(key, id);
        expect(Object.keys(paired).sort()).toEqual([...KEYS].sort());
        const ends = new Date(service.platform.time.now() + 7 * DAY).toISOString();
        expect(paired).toEqual({
          id,
          status: 'connected',
          phoneNumber: '447700900311',
          label: '447700900311',
          provider: 'qr',
          licenseStatus: 'trial',
          licenseExpires: ends,
          phone: '447700900311',
          license_status: 'trial',
          license_expires: ends,
        });
      },
    );

    test(
      'every read shows another picture that names the connection and the time, and each is good for its 20 s',
      proves('connections.get.qr-new', 'connections.create.rotation', 'limits.qr-rotation'),
      async () => {
        const { key, id } = await begin();
        await service.platform.time.freeze();
        const now = service.platform.time.now();
        const early = await qrOf(key, id);
        const twin = await qrOf(key, id);
        expect(twin).not.toBe(early);
        expect(early).toContain(`:${id.toUpperCase()}.${now.toString(36).toUpperCase()}.`);
        await advance(20 * SECOND - 1);
        const late = await qrOf(key, id);
        await advance(1);
        expect(await phones().scan(id, early)).toBe('expired');
        expect(await phones().scan(id, twin)).toBe('expired');
        expect(await phones().scan(id, late)).toBe('paired');
        await service.platform.time.run();
      },
    );

    test('is shown without a licence, and never with a picture for the business platform', async () => {
      const { key, workspaceId, connectionId } = await seedWorkspace(service);
      await service.platform.licences.set(connectionId, { status: 'expired' });
      expect(await detail(key, connectionId)).toMatchObject({
        status: 'connected',
        licenseStatus: 'expired',
      });
      const cloud = await service.platform.connections.createPaired(workspaceId, {
        provider: 'cloud_api',
        phoneNumber: '447700900104',
      });
      expect(await detail(key, cloud.id)).toMatchObject({ provider: 'cloud_api', status: 'connected' });
      expect(await detail(key, cloud.id)).not.toHaveProperty('qr');
    });
  });

  describe('pairing', () => {
    test(
      'a scan connects, claims slot and trial, starts the warm-up, and tells no event',
      proves('state.paired.scan', 'state.paired.silent', 'service.slot.attaches'),
      async () => {
        const { key, id } = await begin();
        expect(await listed(key)).toEqual([]);
        await pair(key, id, '447700900311');
        expect(await detail(key, id)).toMatchObject({ status: 'connected', licenseStatus: 'trial' });
        expect(await listed(key)).toMatchObject([{ id, status: 'open', isDefault: true }]);
        expect(await account(key)).toMatchObject({
          slots: { total: 10, used: 1, available: 9 },
          connections: { total: 1, connected: 1, needsReconnect: 0 },
        });
        expect(await warmupOf(id)).toBe(service.platform.time.now() + 72 * HOUR);
        expect(await toldOf(id)).toEqual([]);
      },
    );

    test('a number that is not named is invented, another one for each connection', async () => {
      const { key, id } = await begin();
      const second = await create(key);
      await pair(key, id);
      await pair(key, second);
      const [one, other] = [await detail(key, id), await detail(key, second)];
      expect(one.phoneNumber).toMatch(/^447700900\d{3}$/);
      expect(other.phoneNumber).toMatch(/^447700900\d{3}$/);
      expect(other.phoneNumber).not.toBe(one.phoneNumber);
    });

    test('no picture of another connection, of anything else, or with a changed sign pairs', async () => {
      const { key, id } = await begin();
      const other = await create(key);
      expect(await phones().scan(id, await qrOf(key, other))).toBe('other_connection');
      expect(await phones().scan(id, 'https://example.com')).toBe('no_ticket');
      const text = await qrOf(key, id);
      const forged = text.slice(0, -1) + (text.endsWith('0') ? '1' : '0');
      expect(await phones().scan(id, forged)).toBe('expired');
      expect((await detail(key, id)).status).toBe('connecting');
    });

    test('a phone without an account on the network does not pair', async () => {
      const { key, id } = await begin();
      await service.platform.contacts.put('447700900399', { onNetwork: false });
      expect(await phones().scan(id, await qrOf(key, id), '447700900399')).toBe('no_account');
    });

    test('a number pairs once in a workspace, and in another one too', async () => {
      const { key, id } = await begin();
      await pair(key, id, '447700900311');
      const second = await create(key);
      expect(await phones().scan(second, await qrOf(key, second), '447700900311')).toBe('number_taken');
      const other = await begin();
      await pair(other.key, other.id, '447700900311');
    });

    test('a connection keeps its number', async () => {
      const { key, id } = await begin();
      await pair(key, id, '447700900311');
      await on(key, 'POST', id, '/logout');
      expect(await phones().scan(id, await qrOf(key, id), '447700900312')).toBe('wrong_number');
      const code = await codeOf(key, id, '447700900312');
      expect(await phones().enterCode(id, code)).toBe('wrong_number');
      await pair(key, id, '447700900311');
    });

    test('nothing pairs that is live, unknown, or of the business platform', async () => {
      const { key, id, workspaceId } = await begin();
      const shown = await qrOf(key, id);
      await pair(key, id);
      await expect(phones().scan(id, shown)).rejects.toMatchObject({ code: 'already_connected' });
      await expect(phones().enterCode(id, 'AAAA-AAAA')).rejects.toMatchObject({ code: 'already_connected' });
      await expect(phones().scan('cnothing', shown)).rejects.toMatchObject({ code: 'not_found' });
      const cloud = await service.platform.connections.createPaired(workspaceId, {
        provider: 'cloud_api',
        phoneNumber: '447700900104',
      });
      await expect(phones().scan(cloud.id, shown)).rejects.toMatchObject({
        code: 'not_supported_for_provider',
      });
    });

    test('pictures shown before a pairing are void after it', async () => {
      const { key, id } = await begin();
      const shown = await qrOf(key, id);
      await pair(key, id);
      await on(key, 'POST', id, '/logout');
      expect(await phones().scan(id, shown)).toBe('expired');
    });

    test('a number warms up once in its workspace, however often it pairs', async () => {
      const { key, id } = await begin();
      await pair(key, id, '447700900311');
      const first = await warmupOf(id);
      await advance(HOUR);
      await on(key, 'POST', id, '/logout');
      await pair(key, id);
      expect(await warmupOf(id)).toBe(first);
      await on(key, 'DELETE', id);
      const next = await create(key);
      await pair(key, next, '447700900311');
      expect(await warmupOf(next)).toBe(first);
    });

    test('a number made by hand has a past and does not warm up', async () => {
      const { connectionId, key } = await seedWorkspace(service);
      expect(await warmupOf(connectionId)).toBeNull();
      await on(key, 'POST', connectionId, '/logout');
      await pair(key, connectionId);
      expect(await warmupOf(connectionId)).toBeNull();
    });

    test(
      'pairing again after an outage that was told is told once, and the connection keeps its licence',
      proves('state.paired.told'),
      async () => {
        const { key, id } = await begin();
        await pair(key, id, '447700900311');
        const { licenseExpires } = await detail(key, id);
        await breakDown(id);
        expect(await detail(key, id)).toMatchObject({ status: 'disconnected', qr: expect.any(String) });
        await pair(key, id);
        const [broken, back, ...more] = await toldOf(id);
        expect([broken?.event, back?.event, more]).toEqual([
          'connection.disconnected',
          'connection.connected',
          [],
        ]);
        const told = readExactly(connectionConnectedEvent, back?.payload);
        expect(told.connection).toMatchObject({
          id,
          phone_number: '447700900311',
          status: 'connected',
          needs_reconnect: false,
          license_status: 'trial',
          reason: null,
        });
        expect(await detail(key, id)).toMatchObject({ status: 'connected', licenseExpires });
      },
    );

    test('works without a licence, and then tells nothing', async () => {
      const { key, id } = await begin();
      await pair(key, id);
      await service.platform.licences.set(id, { status: 'expired' });
      await on(key, 'POST', id, '/logout');
      await on(key, 'POST', id, '/restart');
      await pair(key, id);
      expect(await detail(key, id)).toMatchObject({ status: 'connected', licenseStatus: 'expired' });
      expect(await toldOf(id)).toEqual([]);
    });
  });
});
