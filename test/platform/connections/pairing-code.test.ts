import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { seedWorkspace, startTestPlatform, type TestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';
import { createLifeFixture } from './life-fixture.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe('pairing by code', () => {
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
    account,
    toldOf,
    warmupOf,
    answers,
    breakDown,
  } = createLifeFixture(() => service);

  describe('pairing code', () => {
    test(
      'typed on the phone it connects, like a scan',
      proves(
        'connections.pairing-code.answer',
        'connections.pairing-code.request',
        'connections.pairing-code.consumes-nothing',
        'connections.pairing-code.no-event',
        'shapes.pairing-code',
        'state.paired.code',
        'state.pairing-code.unchanged',
      ),
      async () => {
        const { key, id } = await begin();
        const code = await codeOf(key, id, '4915112345678');
        expect(code).toMatch(/^[0-9A-Z]{4}-[0-9A-Z]{4}$/);
        expect(await detail(key, id)).toMatchObject({ status: 'connecting', phoneNumber: null });
        expect(await account(key)).toMatchObject({ slots: { used: 0 } });
        expect(await phones().enterCode(id, code.toLowerCase())).toBe('paired');
        expect(await detail(key, id)).toMatchObject({
          status: 'connected',
          phoneNumber: '4915112345678',
          licenseStatus: 'trial',
        });
        expect(await account(key)).toMatchObject({ slots: { used: 1 } });
        expect(await warmupOf(id)).toBe(service.platform.time.now() + 72 * HOUR);
        expect(await toldOf(id)).toEqual([]);
      },
    );

    test(
      'each call gives a new one that alone is good, and the pictures stay good',
      proves('connections.pairing-code.again', 'connections.pairing-code.no-rebuild'),
      async () => {
        const { key, id } = await begin();
        const picture = await qrOf(key, id);
        const first = await codeOf(key, id);
        const second = await codeOf(key, id);
        expect(second).not.toBe(first);
        expect(await phones().enterCode(id, first)).toBe('expired');
        expect(await phones().scan(id, picture)).toBe('paired');
        await on(key, 'POST', id, '/logout');
        expect(await phones().enterCode(id, second)).toBe('expired');
      },
    );

    test('is good for three minutes, for its connection, and not when mistyped', async () => {
      const { key, id } = await begin();
      const other = await create(key);
      await service.platform.time.freeze();
      const code = await codeOf(key, id);
      expect(await phones().enterCode(id, 'AAAA-AAAA')).toBe('expired');
      expect(await phones().enterCode(other, code)).toBe('expired');
      await advance(3 * MINUTE - 1);
      expect(await phones().enterCode(id, code)).toBe('paired');
      const late = await codeOf(key, other, '4915112345679');
      await advance(3 * MINUTE);
      expect(await phones().enterCode(other, late)).toBe('expired');
      await service.platform.time.run();
    });

    test(
      'is refused for anything but digits, and nothing is cleaned up',
      proves(
        'connections.pairing-code.digits',
        'connections.pairing-code.no-clean-up',
        'errors.invalid_phone_number',
      ),
      async () => {
        const { key, id } = await begin();
        const refused = [400, { error: 'invalid_phone_number' }];
        const bad = [
          '+4915112345678',
          '49 151 12345678',
          '49-151-12345678',
          ' 4915112345678',
          '4915112345678\n',
        ];
        const worse = ['', '0151123456', '1234', '1234567890123456', '٤٩١٥١١٢٣٤٥', 4915112345678, null];
        for (const phoneNumber of [...bad, ...worse]) {
          expect(await answers(on(key, 'POST', id, '/pairing-code', { phoneNumber }))).toEqual(refused);
        }
        expect(await answers(on(key, 'POST', id, '/pairing-code', {}))).toEqual(refused);
        const noBody = await answers(on(key, 'POST', id, '/pairing-code'));
        expect(noBody).toMatchObject([400, { error: 'invalid_request', field: 'body' }]);
        expect(await codeOf(key, id, '12345')).toMatch(/-/);
        expect(await codeOf(key, id, '123456789012345')).toMatch(/-/);
      },
    );

    test(
      'is for `qr` connections that are not live',
      proves(
        'connections.pairing-code.qr-only',
        'connections.pairing-code.live',
        'state.pairing-code.live',
        'errors.already_connected',
        'errors.not_supported_for_provider',
      ),
      async () => {
        const { key, workspaceId, connectionId } = await seedWorkspace(service);
        const cloud = await service.platform.connections.createPaired(workspaceId, {
          provider: 'cloud_api',
          phoneNumber: '447700900104',
        });
        const ask = (id: string) =>
          answers(on(key, 'POST', id, '/pairing-code', { phoneNumber: '4915112345678' }));
        expect(await ask(connectionId)).toEqual([409, { error: 'already_connected' }]);
        expect(await ask(cloud.id)).toEqual([409, { error: 'not_supported_for_provider' }]);
        await breakDown(connectionId);
        expect(await phones().enterCode(connectionId, await codeOf(key, connectionId))).toBe('paired');
      },
    );

    test(
      'the sixth in 15 minutes is refused, for this connection alone, until the window has slid on',
      proves(
        'connections.pairing-code.cap',
        'connections.pairing-code.cap-per-connection',
        'limits.pairing-codes',
        'errors.rate_limited',
      ),
      async () => {
        const { key, id } = await begin();
        const other = await create(key);
        const phoneNumber = '4915112345678';
        const ask = (connection: string) => on(key, 'POST', connection, '/pairing-code', { phoneNumber });
        await service.platform.time.freeze();
        for (let count = 0; count < 5; count += 1) {
          expect((await ask(id)).status).toBe(200);
          await advance(MINUTE);
        }
        const refused = await ask(id);
        expect([refused.status, refused.body]).toEqual([429, { error: 'rate_limited' }]);
        expect(refused.headers.get('retry-after')).toBe('600');
        expect((await ask(other)).status).toBe(200);
        await on(key, 'POST', id, '/restart');
        expect((await ask(id)).status).toBe(429);
        await advance(10 * MINUTE - 1);
        expect((await ask(id)).headers.get('retry-after')).toBe('1');
        await advance(1);
        expect((await ask(id)).status).toBe(200);
        const next = await ask(id);
        expect([next.status, next.headers.get('retry-after')]).toEqual([429, '60']);
        await service.platform.time.run();
      },
    );

    test(
      'the engine declines a number without an account; the picture is still there, and the request counts',
      proves('connections.pairing-code.declined', 'errors.pairing_code_unavailable'),
      async () => {
        const { key, id } = await begin();
        await service.platform.contacts.put('447700900398', { onNetwork: false });
        const ask = () => answers(on(key, 'POST', id, '/pairing-code', { phoneNumber: '447700900398' }));
        const good = await codeOf(key, id);
        for (let count = 0; count < 4; count += 1) {
          expect(await ask()).toEqual([502, { error: 'pairing_code_unavailable' }]);
        }
        expect(await ask()).toEqual([429, { error: 'rate_limited' }]);
        expect(await phones().scan(id, await qrOf(key, id))).toBe('paired');
        await on(key, 'POST', id, '/logout');
        expect(await phones().enterCode(id, good)).toBe('expired');
      },
    );
  });
});
