import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { seedWorkspace, startTestPlatform, type TestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';
import { createLifeFixture } from './life-fixture.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('restart, logout and deletion', () => {
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
    answers,
    breakDown,
  } = createLifeFixture(() => service);

  describe('restart', () => {
    test(
      'of a session that works takes it up again: nothing changes and nothing is told',
      proves('connections.restart.answer', 'connections.restart.keeps-record', 'shapes.restart'),
      async () => {
        const { key, connectionId } = await seedWorkspace(service);
        const before = await detail(key, connectionId);
        const restarted = await answers(on(key, 'POST', connectionId, '/restart'));
        expect(restarted).toEqual([200, { ok: true, recreated: false }]);
        expect(await detail(key, connectionId)).toEqual(before);
        expect(await toldOf(connectionId)).toEqual([]);
      },
    );

    test(
      'of a lost session needs a new scan: connecting, pictures, the record kept',
      proves(
        'connections.restart.keeps-record',
        'connections.restart.new-qr',
        'state.restart.connecting',
        'state.restart.poll',
      ),
      async () => {
        const { key, id } = await begin();
        await pair(key, id, '447700900311');
        await breakDown(id);
        const shown = await qrOf(key, id);
        const code = await codeOf(key, id, '447700900311');
        const restarted = await answers(on(key, 'POST', id, '/restart'));
        expect(restarted).toEqual([200, { ok: true, recreated: true }]);
        expect(await detail(key, id)).toMatchObject({
          id,
          status: 'connecting',
          phoneNumber: '447700900311',
          licenseStatus: 'trial',
        });
        expect(await account(key)).toMatchObject({ connections: { connected: 0, needsReconnect: 1 } });
        expect(await phones().scan(id, shown)).toBe('expired');
        expect(await phones().enterCode(id, code)).toBe('expired');
        await pair(key, id);
        expect((await toldOf(id)).map(({ event }) => event)).toEqual([
          'connection.disconnected',
          'connection.connected',
        ]);
      },
    );

    test('of a session that the network still knows brings it back, and that is told once', async () => {
      const { key, id } = await begin();
      await pair(key, id);
      await service.platform.outages.begin(id, { cause: 'zombie' });
      await advance(20 * MINUTE);
      expect((await detail(key, id)).status).toBe('disconnected');
      expect((await on(key, 'POST', id, '/restart')).body).toEqual({ ok: true, recreated: false });
      expect((await detail(key, id)).status).toBe('connected');
      await advance(DAY);
      expect((await toldOf(id)).map(({ event }) => event)).toEqual([
        'connection.disconnected',
        'connection.connected',
      ]);
    });

    test('finds a session dead that was still shown live, and that is told once', async () => {
      const { key, id } = await begin();
      await pair(key, id);
      await service.platform.outages.begin(id, { cause: 'session_lost' });
      expect((await detail(key, id)).status).toBe('connected');
      expect((await on(key, 'POST', id, '/restart')).body).toEqual({ ok: true, recreated: true });
      expect((await detail(key, id)).status).toBe('connecting');
      await advance(HOUR);
      expect((await toldOf(id)).map(({ payload }) => payload)).toMatchObject([
        {
          event: 'connection.disconnected',
          connection: { status: 'disconnected', needs_reconnect: true, reason: 'AUTH_LOST' },
        },
      ]);
    });

    test('of one that never paired builds the pairing anew', async () => {
      const { key, id } = await begin();
      const shown = await qrOf(key, id);
      expect((await on(key, 'POST', id, '/restart')).body).toEqual({ ok: true, recreated: true });
      expect(await detail(key, id)).toMatchObject({ status: 'connecting', phoneNumber: null });
      expect(await account(key)).toMatchObject({ connections: { needsReconnect: 0 } });
      expect(await phones().scan(id, shown)).toBe('expired');
      await pair(key, id);
    });

    test('works without a licence, and changes nothing on the business platform', async () => {
      const { key, workspaceId, connectionId } = await seedWorkspace(service);
      await service.platform.licences.set(connectionId, { status: 'expired' });
      expect((await on(key, 'POST', connectionId, '/restart')).status).toBe(200);
      const cloud = await service.platform.connections.createPaired(workspaceId, {
        provider: 'cloud_api',
        phoneNumber: '447700900104',
      });
      expect((await on(key, 'POST', cloud.id, '/restart')).body).toEqual({ ok: true, recreated: false });
      expect((await detail(key, cloud.id)).status).toBe('connected');
    });
  });

  describe('logout', () => {
    test(
      'ends the session, keeps record and licence, tells nobody, and a restart and a scan bring it back',
      proves(
        'connections.logout.answer',
        'connections.logout.keeps-record',
        'connections.logout.clears',
        'shapes.acknowledgement',
        'state.logout.session',
        'state.logout.record',
        'state.logout.return',
      ),
      async () => {
        const { key, id } = await begin();
        await pair(key, id, '447700900311');
        const before = await detail(key, id);
        expect(await answers(on(key, 'POST', id, '/logout'))).toEqual([200, { ok: true }]);
        expect(await detail(key, id)).toEqual({ ...before, status: 'disconnected', qr: expect.any(String) });
        expect(await account(key)).toMatchObject({
          slots: { used: 1 },
          connections: { total: 1, connected: 0, needsReconnect: 1 },
        });
        const send = { connectionId: id, to: '4915500000001', text: 'hello' };
        expect((await service.call('POST', '/messages', { key, body: send })).status).toBe(502);
        expect((await on(key, 'POST', id, '/restart')).body).toEqual({ ok: true, recreated: true });
        await pair(key, id);
        expect(await detail(key, id)).toEqual(before);
        expect(await toldOf(id)).toEqual([]);
      },
    );

    test('in any state', proves('state.logout.session'), async () => {
      const { key, id } = await begin();
      const twice = [await on(key, 'POST', id, '/logout'), await on(key, 'POST', id, '/logout')];
      expect(twice.map(({ status }) => status)).toEqual([200, 200]);
      expect((await detail(key, id)).status).toBe('disconnected');
      expect(await account(key)).toMatchObject({ connections: { needsReconnect: 0 } });
      await pair(key, id);
      await breakDown(id);
      expect((await on(key, 'POST', id, '/logout')).status).toBe(200);
      await pair(key, id);
      expect((await toldOf(id)).map(({ event }) => event)).toEqual([
        'connection.disconnected',
        'connection.connected',
      ]);
    });

    test('ends an outage that nobody found yet without a word', async () => {
      const { key, id } = await begin();
      await pair(key, id);
      await service.platform.outages.begin(id, { cause: 'phone_off' });
      await on(key, 'POST', id, '/logout');
      await advance(HOUR);
      expect(await toldOf(id)).toEqual([]);
    });

    test('is refused for the business platform, where nothing could bring it back', async () => {
      const { key, workspaceId } = await seedWorkspace(service);
      const cloud = await service.platform.connections.createPaired(workspaceId, {
        provider: 'cloud_api',
        phoneNumber: '447700900104',
      });
      const refused = await answers(on(key, 'POST', cloud.id, '/logout'));
      expect(refused).toEqual([409, { error: 'not_supported_for_provider' }]);
      expect((await detail(key, cloud.id)).status).toBe('connected');
    });
  });

  describe('deletion', () => {
    test(
      'is for good: the connection and its messages are gone everywhere, and nothing later brings them back',
      proves(
        'connections.delete.answer',
        'connections.delete.permanent',
        'shapes.acknowledgement',
        'state.delete.gone',
        'state.delete.id-retired',
      ),
      async () => {
        const { key, id } = await begin();
        await pair(key, id);
        const send = { connectionId: id, to: '4915500000001', text: 'hello' };
        expect((await service.call('POST', '/messages', { key, body: send })).status).toBe(200);
        await service.platform.messages.receive(id, { from: '4915500000001', text: 'hi' });
        expect(await answers(on(key, 'DELETE', id))).toEqual([200, { ok: true }]);
        const gone = [404, { error: 'not_found' }];
        expect(await answers(on(key, 'GET', id))).toEqual(gone);
        expect(await answers(on(key, 'DELETE', id))).toEqual(gone);
        expect(await answers(on(key, 'POST', id, '/restart'))).toEqual(gone);
        expect(await answers(on(key, 'POST', id, '/logout'))).toEqual(gone);
        const ask = on(key, 'POST', id, '/pairing-code', { phoneNumber: '4915112345678' });
        expect(await answers(ask)).toEqual(gone);
        expect(await listed(key)).toEqual([]);
        await advance(DAY);
        const { body } = await service.call('GET', '/messages', { key });
        expect(body).toEqual({ messages: [], nextCursor: null, hasMore: false });
        const rows = await service.database.query(
          'SELECT 1 FROM platform.messages WHERE connection_id = $1',
          [id],
        );
        expect(rows).toEqual([]);
        await expect(phones().enterCode(id, 'AAAA-AAAA')).rejects.toMatchObject({ code: 'not_found' });
      },
    );

    test(
      'gives the slot back with the time that is left, and the next number that pairs takes it',
      proves('state.delete.slot'),
      async () => {
        const { key, id } = await begin(1);
        await pair(key, id);
        const { licenseExpires } = await detail(key, id);
        await advance(2 * DAY);
        await on(key, 'DELETE', id);
        expect(await account(key)).toMatchObject({
          slots: { used: 0, available: 1 },
          connections: { total: 0 },
        });
        const next = await create(key);
        await pair(key, next);
        expect(await detail(key, next)).toMatchObject({ licenseStatus: 'trial', licenseExpires });
      },
    );

    test('in any state, with a licence or without, of either kind', proves('state.delete.gone'), async () => {
      const { key, id: connecting } = await begin();
      const { workspaceId, connectionId: unlicensed, key: other } = await seedWorkspace(service);
      const cloud = await service.platform.connections.createPaired(workspaceId, {
        provider: 'cloud_api',
        phoneNumber: '447700900104',
      });
      await service.platform.licences.set(unlicensed, { status: 'expired' });
      await breakDown(unlicensed);
      expect((await on(key, 'DELETE', connecting)).status).toBe(200);
      expect((await on(other, 'DELETE', unlicensed)).status).toBe(200);
      expect((await on(other, 'DELETE', cloud.id)).status).toBe(200);
    });

    test('of the default makes the oldest that is left the default', async () => {
      const { key, id } = await begin();
      const [second, third] = [await create(key), await create(key)];
      await pair(key, second);
      await pair(key, third);
      await pair(key, id);
      const defaults = async () =>
        (await listed(key)).filter(({ isDefault }) => isDefault).map((item) => item.id);
      expect(await defaults()).toEqual([second]);
      await on(key, 'DELETE', second);
      expect(await defaults()).toEqual([id]);
    });

    test('frees the number for another connection', async () => {
      const { key, id } = await begin();
      await pair(key, id, '447700900311');
      await on(key, 'DELETE', id);
      const next = await create(key);
      await pair(key, next, '447700900311');
    });
  });

  describe('several at once', () => {
    /** No fault of the service, whatever comes first. */
    const expectNoFault = (statuses: readonly number[]) => {
      expect(statuses.filter((status) => ![200, 404, 409].includes(status))).toEqual([]);
    };
    const outcomeOf = (scan: Promise<string>) =>
      scan.catch((error: { code?: string }) => error.code ?? String(error));

    test('two scans of one picture pair once', async () => {
      const { key, id } = await begin();
      const text = await qrOf(key, id);
      const scans = ['447700900311', '447700900312'].map((number) =>
        outcomeOf(phones().scan(id, text, number)),
      );
      expect((await Promise.all(scans)).sort()).toEqual(['already_connected', 'paired']);
      expect(await account(key)).toMatchObject({ slots: { used: 1 } });
    });

    test('one number scans two connections and pairs with one', async () => {
      const { key, id } = await begin();
      const second = await create(key);
      const texts = [await qrOf(key, id), await qrOf(key, second)];
      const scans = [id, second].map((one, index) => phones().scan(one, texts[index] ?? '', '447700900311'));
      expect((await Promise.all(scans)).sort()).toEqual(['number_taken', 'paired']);
    });

    test('a scan and a deletion, a restart, a logout: one after the other, whichever comes first', async () => {
      const { key } = await begin();
      for (const [method, what] of [
        ['DELETE', ''],
        ['POST', '/restart'],
        ['POST', '/logout'],
      ] as const) {
        for (let turn = 0; turn < 4; turn += 1) {
          const id = await create(key);
          const text = await qrOf(key, id);
          const scan = () => outcomeOf(phones().scan(id, text));
          const call = async () => (await on(key, method, id, what)).status;
          const order = turn % 2 === 0 ? [scan, call] : [call, scan];
          const [one, other] = await Promise.all(order.map((act) => act()));
          const [outcome, status] = turn % 2 === 0 ? [one, other] : [other, one];
          expect(status).toBe(200);
          expect(['paired', 'expired', 'not_found']).toContain(outcome);
          await on(key, 'DELETE', id);
        }
      }
      expect(await account(key)).toMatchObject({ slots: { used: 0 }, connections: { total: 1 } });
    });

    test('everything on one connection at once ends in one state, without a fault', async () => {
      const { key, id } = await begin();
      const text = await qrOf(key, id);
      const phoneNumber = '4915112345678';
      const calls = Array.from({ length: 4 }, () => [
        on(key, 'POST', id, '/restart'),
        on(key, 'POST', id, '/logout'),
        on(key, 'POST', id, '/pairing-code', { phoneNumber }),
        on(key, 'GET', id),
      ]).flat();
      const scans = [outcomeOf(phones().scan(id, text)), outcomeOf(phones().scan(id, text))];
      const deletions = [on(key, 'DELETE', id), on(key, 'DELETE', id)];
      await Promise.all(scans);
      expectNoFault((await Promise.all(calls)).map(({ status }) => status));
      const deleted = (await Promise.all(deletions)).map(({ status }) => status).sort();
      expect(deleted).toEqual([200, 404]);
      expect(await account(key)).toMatchObject({ slots: { used: 0 }, connections: { total: 0 } });
    });
  });

  test('no endpoint of a connection tells a foreign one from an unknown one', async () => {
    const { key } = await begin();
    const { connectionId: foreign } = await seedWorkspace(service);
    const phoneNumber = '4915112345678';
    for (const id of [foreign, 'c000000000000000000000000', 'x', '%00']) {
      for (const [method, what, body] of [
        ['GET', '', undefined],
        ['DELETE', '', undefined],
        ['POST', '/restart', undefined],
        ['POST', '/logout', undefined],
        ['POST', '/pairing-code', { phoneNumber }],
      ] as const) {
        expect(await answers(on(key, method, id, what, body))).toEqual([404, { error: 'not_found' }]);
      }
    }
  });
});
