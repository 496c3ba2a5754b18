import { describe, expect, test } from 'vitest';
import { addConnection, seedWorkspace } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';
import { useLife } from './life-fixture.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe('pairing by code', () => {
  const life = useLife();

  describe('pairing code', () => {
    test('connects when it is typed on the phone, like a scan', async () => {
      proves('connections.pairing-code.answer', 'connections.pairing-code.request');
      proves('connections.pairing-code.consumes-nothing', 'connections.pairing-code.no-event');
      proves('shapes.pairing-code');
      proves('state.paired.code', 'state.pairing-code.unchanged');
      proves('service.qr.pairs');
      const { key, id } = await life.begin();
      const code = await life.codeOf(key, id, '4915112345678');
      expect(code).toMatch(/^[0-9A-Z]{4}-[0-9A-Z]{4}$/);
      expect(await life.detail(key, id)).toMatchObject({ status: 'connecting', phoneNumber: null });
      expect(await life.account(key)).toMatchObject({ slots: { used: 0 } });
      expect(await life.phones().enterCode(id, code.toLowerCase())).toBe('paired');
      expect(await life.detail(key, id)).toMatchObject({
        status: 'connected',
        phoneNumber: '4915112345678',
        licenseStatus: 'trial',
      });
      expect(await life.account(key)).toMatchObject({ slots: { used: 1 } });
      expect(await life.warmupOf(id)).toBe(life.service.platform.time.now() + 72 * HOUR);
      expect(await life.toldOf(id)).toEqual([]);
    });

    test('each call returns a new code and invalidates the previous one, but no QR code', async () => {
      proves('connections.pairing-code.again', 'connections.pairing-code.no-rebuild');
      const { key, id } = await life.begin();
      const picture = await life.qrOf(key, id);
      const first = await life.codeOf(key, id);
      const second = await life.codeOf(key, id);
      expect(second).not.toBe(first);
      expect(await life.phones().enterCode(id, first)).toBe('expired');
      expect(await life.phones().scan(id, picture)).toBe('paired');
      await life.on(key, 'POST', id, '/logout');
      expect(await life.phones().enterCode(id, second)).toBe('expired');
    });

    test('is valid for three minutes, for its connection, and not if mistyped', async () => {
      const { key, id } = await life.begin();
      const other = await life.create(key);
      await life.service.platform.time.freeze();
      const code = await life.codeOf(key, id);
      expect(await life.phones().enterCode(id, 'AAAA-AAAA')).toBe('expired');
      expect(await life.phones().enterCode(other, code)).toBe('expired');
      await life.advance(3 * MINUTE - 1);
      expect(await life.phones().enterCode(id, code)).toBe('paired');
      const late = await life.codeOf(key, other, '4915112345679');
      await life.advance(3 * MINUTE);
      expect(await life.phones().enterCode(other, late)).toBe('expired');
      await life.service.platform.time.run();
    });

    test('is only for `qr` connections that are not live', async () => {
      proves('connections.pairing-code.qr-only', 'connections.pairing-code.live');
      proves('state.pairing-code.live');
      proves('errors.already_connected', 'errors.not_supported_for_provider');
      const { key, workspaceId, connectionId } = await seedWorkspace(life.service);
      const cloud = await addConnection(life.service, workspaceId, '447700900104', 'cloud_api');
      const ask = (id: string) =>
        life.answers(life.on(key, 'POST', id, '/pairing-code', { phoneNumber: '4915112345678' }));
      expect(await ask(connectionId)).toEqual([409, { error: 'already_connected' }]);
      expect(await ask(cloud.id)).toEqual([409, { error: 'not_supported_for_provider' }]);
      await life.breakDown(connectionId);
      expect(await life.phones().enterCode(connectionId, await life.codeOf(key, connectionId))).toBe(
        'paired',
      );
    });

    test('the sixth within 15 minutes is refused, only for this connection, until the window has moved on', async () => {
      proves('connections.pairing-code.cap', 'connections.pairing-code.cap-per-connection');
      proves('limits.pairing-codes');
      proves('errors.rate_limited');
      const { key, id } = await life.begin();
      const other = await life.create(key);
      const phoneNumber = '4915112345678';
      const ask = (connection: string) => life.on(key, 'POST', connection, '/pairing-code', { phoneNumber });
      await life.service.platform.time.freeze();
      for (let count = 0; count < 5; count += 1) {
        expect((await ask(id)).status).toBe(200);
        await life.advance(MINUTE);
      }
      const refused = await ask(id);
      expect([refused.status, refused.body]).toEqual([429, { error: 'rate_limited' }]);
      expect(refused.headers.get('retry-after')).toBe('600');
      expect((await ask(other)).status).toBe(200);
      await life.on(key, 'POST', id, '/restart');
      expect((await ask(id)).status).toBe(429);
      await life.advance(10 * MINUTE - 1);
      expect((await ask(id)).headers.get('retry-after')).toBe('1');
      await life.advance(1);
      expect((await ask(id)).status).toBe(200);
      const next = await ask(id);
      expect([next.status, next.headers.get('retry-after')]).toEqual([429, '60']);
      await life.service.platform.time.run();
    });

    test('a number without an account is declined; the QR code remains available, and the request counts', async () => {
      proves('connections.pairing-code.declined', 'errors.pairing_code_unavailable');
      const { key, id } = await life.begin();
      await life.service.platform.contacts.put('447700900198', { onNetwork: false });
      const ask = () =>
        life.answers(life.on(key, 'POST', id, '/pairing-code', { phoneNumber: '447700900198' }));
      const good = await life.codeOf(key, id);
      for (let count = 0; count < 4; count += 1) {
        expect(await ask()).toEqual([502, { error: 'pairing_code_unavailable' }]);
      }
      expect(await ask()).toEqual([429, { error: 'rate_limited' }]);
      expect(await life.phones().scan(id, await life.qrOf(key, id))).toBe('paired');
      await life.on(key, 'POST', id, '/logout');
      expect(await life.phones().enterCode(id, good)).toBe('expired');
    });
  });
});
