import { describe, expect, test } from 'vitest';
import { proves } from '../../support/proves.ts';
import { useLife } from '../connections/life-fixture.ts';

const DAY = 86_400_000;

describe('slots and pairing', () => {
  const life = useLife();
  const licenses = () => life.service.platform.licenses;
  const restart = (key: string, id: string) => life.on(key, 'POST', id, '/restart');
  const logOut = (key: string, id: string) => life.on(key, 'POST', id, '/logout');

  test('the first numbers to pair get the slots', async () => {
    proves('service.slot.attaches', 'state.created.claims-nothing', 'connections.create.over-quota');
    const { key, id: waiting } = await life.begin(2);
    const others = await Promise.all(Array.from({ length: 3 }, () => life.create(key)));
    expect(await life.account(key)).toMatchObject({
      slots: { total: 2, used: 0, available: 2 },
      connections: { total: 4, connected: 0, needsReconnect: 0 },
    });
    await Promise.all(others.map((id) => life.pair(key, id)));
    await life.pair(key, waiting);
    expect(await life.account(key)).toMatchObject({
      slots: { used: 2, available: 0 },
      connections: { total: 4, connected: 4 },
    });
    expect(await life.listed(key)).toHaveLength(2);
    expect(await life.detail(key, waiting)).toMatchObject({ status: 'connected', licenseStatus: 'none' });
  });

  test('pairing again keeps the license and starts no second trial', async () => {
    const { key, id } = await life.begin(5);
    await life.pair(key, id);
    const [{ licenseExpires } = { licenseExpires: null }] = await life.listed(key);
    for (const days of [1, 7]) {
      await life.advance(days * DAY);
      await logOut(key, id);
      await restart(key, id);
      await life.pair(key, id);
      expect(await life.detail(key, id)).toMatchObject({
        status: 'connected',
        licenseStatus: days === 1 ? 'trial' : 'expired',
        licenseExpires,
      });
      expect(await life.account(key)).toMatchObject({ slots: { used: 1, available: 4 } });
    }
  });

  test('a number without a slot takes the free one that lasts longest when it pairs again', async () => {
    proves('service.slot.returns', 'choice.slot.inherited');
    const { key, id: first } = await life.begin(2);
    const [second, late] = [await life.create(key), await life.create(key)];
    await life.pair(key, first);
    await life.advance(DAY);
    await life.pair(key, second);
    await life.pair(key, late);
    const { licenseExpires } = await life.detail(key, second);
    for (const id of [first, second]) await life.on(key, 'DELETE', id);
    expect(await life.listed(key)).toEqual([]);
    await logOut(key, late);
    await life.pair(key, late);
    expect(await life.listed(key)).toMatchObject([{ id: late, licenseStatus: 'trial', licenseExpires }]);
  });

  test('in a portal workspace pairing again buys no add-on', async () => {
    proves('service.portal.addon');
    const { service } = life;
    const workspace = await service.platform.workspaces.create({ kind: 'crm_portal' });
    const { key } = await service.platform.apiKeys.create(workspace.id);
    const number = { provider: 'qr', phoneNumber: '4915112345670' } as const;
    const { id } = await service.platform.connections.createPaired(workspace.id, { ...number, addon: false });
    await logOut(key, id);
    await life.pair(key, id);
    expect(await life.detail(key, id)).toMatchObject({ status: 'connected', licenseStatus: 'none' });
    expect(await life.listed(key)).toEqual([]);
    await licenses().set(id, { status: 'active' });
    expect(await life.listed(key)).toMatchObject([{ id, licenseStatus: 'active' }]);
  });

  test('a lapsed add-on hides its connection and stops its events, until the renewal', async () => {
    proves('service.gate.expired-hidden', 'service.gate.unsendable');
    proves('delivery.unlicensed');
    proves('errors.addon_required');
    const { service } = life;
    const workspace = await service.platform.workspaces.create({ kind: 'crm_portal' });
    const { key } = await service.platform.apiKeys.create(workspace.id);
    const number = { provider: 'qr', phoneNumber: '4915112345671' } as const;
    const { id } = await service.platform.connections.createPaired(workspace.id, number);
    const now = service.platform.time.now();
    await licenses().set(id, { expiresAt: now + DAY });
    await life.advance(DAY);
    const calls: readonly [string, object][] = [
      ['/messages', { connectionId: id, to: '4915500000001', text: 'hello' }],
      ['/messages/read', { connectionId: id, phone: '4915500000001' }],
    ];
    for (const [path, body] of calls) {
      expect(await life.answers(service.call('POST', path, { key, body }))).toEqual([
        402,
        { error: 'addon_required' },
      ]);
    }
    await service.platform.messages.receive(id, { from: '4915500000001', text: 'unheard' });
    expect(await life.listed(key)).toEqual([]);
    expect((await service.call('GET', '/messages', { key })).body).toMatchObject({ messages: [] });
    await licenses().set(id, { status: 'active' });
    expect(await life.listed(key)).toMatchObject([{ id, licenseStatus: 'active' }]);
    expect((await service.call('GET', '/messages', { key })).body).toMatchObject({
      messages: [{ text: 'unheard' }],
    });
    const told = await service.platform.ledger.read({}, 1_000_000);
    expect(told.filter(({ connectionId }) => connectionId === id)).toEqual([]);
  });
});
