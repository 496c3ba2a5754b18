import { describe, expect, test } from 'vitest';
import {
  connectionConnectedEvent,
  connectionDisconnectedEvent,
} from '../../../../src/contract/service/events.ts';
import { ofFile } from '../../../support/of-file.ts';
import {
  addConnection,
  readExactly,
  seedWorkspace,
  startTestPlatform,
  type TestPlatform,
  toldOf,
} from '../../../support/platform.ts';
import { proves } from '../../../support/proves.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const person = '4915500000001';

describe('outages', () => {
  const service = ofFile(startTestPlatform);

  type Cause = Parameters<TestPlatform['platform']['outages']['begin']>[1]['cause'];

  const advance = (ms: number) => service.platform.time.advance({ ms });
  const breaks = (id: string, cause: Cause, heals?: boolean) =>
    service.platform.outages.begin(id, heals === undefined ? { cause } : { cause, heals });
  const recovers = (id: string) => service.platform.outages.recover(id);

  const kindsOf = async (id: string) => (await toldOf(service, id)).map((entry) => entry.event.split('.')[1]);

  async function shown(key: string) {
    const { body } = await service.call('GET', '/connections', { key });
    const { body: account } = await service.call('GET', '/account', { key });
    return { ...(body as { connections: [{ status: string }] }).connections[0], account };
  }

  test.each([
    ['session_lost', 5, 'AUTH_LOST'],
    ['phone_off', 5, 'NEEDS_RECONNECT'],
    ['opened_elsewhere', 5, 'NEEDS_RECONNECT'],
    ['session_ageing', 20, 'HEAL_GIVEUP'],
    ['zombie', 20, 'HEAL_GIVEUP'],
  ] as const)(
    '%s is shown as connected until it is detected, then reported once and counted',
    async (cause, minutes, reason) => {
      proves('state.outage.session-lost', 'state.outage.phone-off', 'state.outage.session-ageing');
      proves('state.outage.opened-elsewhere', 'state.outage.needs-reconnect', 'state.outage.reported-once');
      proves('state.outage.counted', 'state.needs-reconnect', 'state.outage.detected');
      proves('account.connections.needsReconnect', 'account.connections.connected');
      proves('events.disconnected.reason');
      proves('choice.outage.hidden');
      proves('limits.disconnect-detection');
      const { key, connectionId } = await seedWorkspace(service);
      expect(await breaks(connectionId, cause)).toBe(true);
      expect(await shown(key)).toMatchObject({
        status: 'open',
        account: { connections: { total: 1, connected: 1, needsReconnect: 0 } },
      });
      await advance(minutes * MINUTE);
      expect(await shown(key)).toMatchObject({
        status: 'disconnected',
        account: { connections: { total: 1, connected: 0, needsReconnect: 1 } },
      });
      await advance(60 * MINUTE);
      const told = await toldOf(service, connectionId);
      expect(told.map(({ event, payload }) => [event, payload['connection']])).toEqual([
        ['connection.disconnected', expect.objectContaining({ reason })],
      ]);
    },
  );

  test.each(['session_ageing', 'zombie'] as const)(
    '%s is not reported before the heal is given up',
    async (cause) => {
      proves('state.outage.heal-first', 'limits.disconnect-detection');
      const { key, connectionId } = await seedWorkspace(service);
      await breaks(connectionId, cause);
      await advance(15 * MINUTE - 1);
      expect(await shown(key)).toMatchObject({ status: 'open' });
      expect(await toldOf(service, connectionId)).toEqual([]);
    },
  );

  test('both events have exactly the documented keys', async () => {
    proves('events.disconnected.exact', 'events.disconnected.status', 'events.disconnected.needs_reconnect');
    proves('events.disconnected.timestamp', 'events.disconnected.no-qr', 'events.connected.payload');
    proves('events.disconnected.id', 'events.disconnected.phone_number', 'events.disconnected.label');
    proves('events.disconnected.license_status', 'events.disconnected.license_expires');
    proves('choice.payload.exact');
    const { connectionId } = await seedWorkspace(service, { phoneNumber: '4915112345671' });
    const expires = service.platform.time.now() + 7 * DAY;
    await breaks(connectionId, 'session_lost');
    const { fired } = await advance(5 * MINUTE);
    const found = fired.find(({ what }) => what === 'outage.found')?.at;
    await recovers(connectionId);
    const [broken, mended] = await toldOf(service, connectionId);
    const connection = {
      id: connectionId,
      phone_number: '4915112345671',
      label: 'Front desk',
      license_status: 'trial',
      license_expires: new Date(expires).toISOString(),
    };
    expect(readExactly(connectionDisconnectedEvent, broken?.payload)).toEqual({
      event: 'connection.disconnected',
      connection_id: connectionId,
      connection: { ...connection, status: 'disconnected', needs_reconnect: true, reason: 'AUTH_LOST' },
      timestamp: found,
    });
    expect(readExactly(connectionConnectedEvent, mended?.payload)).toEqual({
      event: 'connection.connected',
      connection_id: connectionId,
      connection: { ...connection, status: 'connected', needs_reconnect: false, reason: null },
      timestamp: service.platform.time.now(),
    });
  });

  test('a recovery after the detection is reported once, and so is the next outage', async () => {
    proves('events.disconnected.fires', 'events.connected.fires');
    proves('state.recovered.connected', 'state.recovered.reported-once');
    const { key, connectionId } = await seedWorkspace(service);
    for (let round = 0; round < 2; round += 1) {
      await breaks(connectionId, 'session_lost');
      await advance(5 * MINUTE);
      expect(await recovers(connectionId)).toBe(true);
      expect(await shown(key)).toMatchObject({
        status: 'open',
        account: { connections: { connected: 1, needsReconnect: 0 } },
      });
      await advance(60 * MINUTE);
    }
    expect(await kindsOf(connectionId)).toEqual(['disconnected', 'connected', 'disconnected', 'connected']);
  });

  test('a recovery before the detection is not reported', async () => {
    proves('events.connected.fires', 'choice.outage.unfound');
    const { connectionId } = await seedWorkspace(service);
    for (const cause of ['session_lost', 'zombie'] as const) {
      await breaks(connectionId, cause);
      await advance(10_000);
      await recovers(connectionId);
    }
    await advance(60 * MINUTE);
    expect(await toldOf(service, connectionId)).toEqual([]);
  });

  test('the timer of a past outage does not detect the next one', async () => {
    const { key, connectionId } = await seedWorkspace(service);
    await breaks(connectionId, 'session_lost');
    await recovers(connectionId);
    await breaks(connectionId, 'zombie');
    await advance(15 * MINUTE - 1);
    expect(await shown(key)).toMatchObject({ status: 'open' });
    await advance(5 * MINUTE + 1);
    expect(await shown(key)).toMatchObject({ status: 'disconnected' });
    expect(await kindsOf(connectionId)).toEqual(['disconnected']);
  });

  test('a heal sends no event, and the session works again', async () => {
    proves('choice.outage.unfound');
    const { key, connectionId } = await seedWorkspace(service);
    for (const cause of ['session_lost', 'zombie', 'phone_off'] as const) {
      await breaks(connectionId, cause, true);
      await advance(15 * MINUTE);
      expect(await shown(key)).toMatchObject({ status: 'open' });
      expect(await recovers(connectionId)).toBe(false);
    }
    await service.platform.messages.receive(connectionId, { from: person, text: 'there?' });
    expect(await kindsOf(connectionId)).toEqual(['received']);
  });

  test('a phone that is switched on ends only the outage of a phone that is off', async () => {
    const { outages } = service.platform;
    const { connectionId } = await seedWorkspace(service);
    await breaks(connectionId, 'session_lost');
    await outages.setPhone(connectionId, { on: true });
    expect([...(await outages.causes([connectionId])).values()]).toEqual(['session_lost']);
  });

  test('a phone that is switched off in the meantime does not heal', async () => {
    const { connectionId } = await seedWorkspace(service);
    await breaks(connectionId, 'session_ageing', true);
    await service.platform.outages.setPhone(connectionId, { on: false });
    await advance(20 * MINUTE);
    expect(await kindsOf(connectionId)).toEqual(['disconnected']);
  });

  test('a timer of a deleted connection does nothing', async () => {
    const { key, connectionId } = await seedWorkspace(service);
    await breaks(connectionId, 'session_lost');
    await breaks((await seedWorkspace(service)).connectionId, 'session_lost');
    await service.call('DELETE', `/connections/${connectionId}`, { key });
    await advance(5 * MINUTE);
    expect(await toldOf(service, connectionId)).toEqual([]);
  });

  test('the detection survives a restart of the service', async () => {
    const { connectionId } = await seedWorkspace(service);
    await breaks(connectionId, 'session_lost');
    await service.restart();
    await advance(5 * MINUTE);
    expect(await kindsOf(connectionId)).toEqual(['disconnected']);
    await service.restart();
    await recovers(connectionId);
    expect(await kindsOf(connectionId)).toEqual(['disconnected', 'connected']);
  });

  test('a broken session does not break again, and a working one does not recover', async () => {
    const { connectionId } = await seedWorkspace(service);
    expect(await recovers(connectionId)).toBe(false);
    expect(await breaks(connectionId, 'session_lost')).toBe(true);
    expect(await breaks(connectionId, 'zombie')).toBe(false);
    expect(await recovers(connectionId)).toBe(true);
    expect(await recovers(connectionId)).toBe(false);
    await expect(breaks('unknown', 'zombie')).rejects.toMatchObject({ code: 'not_found' });
  });

  test('one of several concurrent recoveries ends the outage', async () => {
    const { connectionId } = await seedWorkspace(service);
    await breaks(connectionId, 'session_lost');
    await advance(5 * MINUTE);
    const ended = await Promise.all(Array.from({ length: 8 }, () => recovers(connectionId)));
    expect(ended.filter((done) => done)).toEqual([true]);
    expect(await kindsOf(connectionId)).toEqual(['disconnected', 'connected']);
  });

  test('a cloud_api connection has neither outages nor a phone, and sends no events', async () => {
    proves('state.outage.qr-alone', 'service.cloud-api.silent', 'events.qr-only');
    const { workspaceId } = await seedWorkspace(service);
    const { id } = await addConnection(service, workspaceId, '4915112345672', 'cloud_api');
    const refusal = { code: 'not_supported_for_provider' };
    await expect(breaks(id, 'session_lost')).rejects.toMatchObject(refusal);
    await expect(recovers(id)).rejects.toMatchObject(refusal);
    await expect(service.platform.outages.setPhone(id, { on: false })).rejects.toMatchObject(refusal);
    await service.platform.messages.receive(id, { from: person, text: 'hello' });
    await advance(60 * MINUTE);
    expect(await toldOf(service, id)).toEqual([]);
  });

  describe('while the license is expired', () => {
    const expire = (id: string) => service.platform.licenses.set(id, { status: 'expired' });
    const renew = (id: string) => service.platform.licenses.set(id, { status: 'active' });

    test('an outage is never reported, and neither is its end', async () => {
      proves('delivery.unlicensed', 'events.connected.fires', 'choice.outage.unlicensed');
      const { connectionId } = await seedWorkspace(service);
      await expire(connectionId);
      await breaks(connectionId, 'session_lost');
      await advance(5 * MINUTE);
      await renew(connectionId);
      await advance(DAY);
      expect(await toldOf(service, connectionId)).toEqual([]);
      await recovers(connectionId);
      expect(await toldOf(service, connectionId)).toEqual([]);
    });

    test('a recovery is never reported', async () => {
      proves('delivery.unlicensed');
      const { key, connectionId } = await seedWorkspace(service);
      await breaks(connectionId, 'session_lost');
      await advance(5 * MINUTE);
      await expire(connectionId);
      await recovers(connectionId);
      await renew(connectionId);
      await advance(DAY);
      expect(await kindsOf(connectionId)).toEqual(['disconnected']);
      expect(await shown(key)).toMatchObject({ status: 'open' });
    });
  });
});
