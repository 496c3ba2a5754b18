import { describe, expect, test } from 'vitest';
import { account } from '../../../src/contract/service/account.ts';
import { readAccount } from '../../../src/platform/licensing/read-account.ts';
import { ofFile } from '../../support/of-file.ts';
import { addConnection, readExactly, startTestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';

const DAY = 86_400_000;

describe('GET /account', () => {
  const service = ofFile(startTestPlatform);

  async function open(options: { kind?: 'standalone' | 'crm_portal'; slots?: number } = {}) {
    const { id } = await service.platform.workspaces.create({ kind: 'standalone', ...options });
    const { key } = await service.platform.apiKeys.create(id);
    return { id, key };
  }

  let paired = 0;
  async function pair(workspaceId: string, addon?: boolean): Promise<string> {
    paired += 1;
    const { id } = await service.platform.connections.createPaired(workspaceId, {
      provider: 'qr',
      phoneNumber: `4915112340${paired}`,
      ...(addon === undefined ? {} : { addon }),
    });
    return id;
  }

  const remove = (key: string, id: string) => service.call('DELETE', `/connections/${id}`, { key });
  const at = (ms: number): string => new Date(ms).toISOString();

  async function read(key: string) {
    const { status, body } = await service.call('GET', '/account', { key });
    expect(status).toBe(200);
    return readExactly(account, body);
  }

  test('an account that has never paired a number has all its slots, and nothing to renew', async () => {
    proves('account.exact', 'account.get.answer', 'account.slots.total', 'account.slots.available');
    const { key } = await open({ slots: 3 });
    expect(await read(key)).toEqual({
      slots: { total: 3, used: 0, available: 3, nextExpiry: null },
      connections: { total: 0, connected: 0, needsReconnect: 0 },
    });
  });

  test('refuses the key of a workspace that is deleted during the call', async () => {
    const credential = {
      kind: 'api_key',
      id: 'key_of_deleted',
      workspaceId: 'workspace_deleted',
      workspaceKind: 'standalone',
      subscriptionId: 'workspace_deleted',
      scopes: [],
      connectionIds: null,
      ipAllowlist: null,
      legacy: false,
    } as const;
    const refused = readAccount(service.database, credential, service.clock.now());
    await expect(refused).rejects.toMatchObject({ code: 'invalid_key' });
  });

  test('a number that pairs takes a slot; one beyond the slots takes none, and counts as a connection', async () => {
    proves('account.slots.used', 'account.slots.available', 'account.connections.total');
    proves('account.connections.connected');
    proves('connections.create.over-quota');
    proves('service.slot.capacity');
    const { id, key } = await open({ slots: 2 });
    await pair(id);
    expect((await read(key)).slots).toMatchObject({ total: 2, used: 1, available: 1 });
    await pair(id);
    await pair(id);
    expect(await read(key)).toMatchObject({
      slots: { total: 2, used: 2, available: 0 },
      connections: { total: 3, connected: 3, needsReconnect: 0 },
    });
  });

  test('the slot of a deleted connection is available with its remaining time, and not once that has ended', async () => {
    proves('service.slot.returns');
    proves('state.delete.slot');
    proves('account.slots.nextExpiry');
    proves('limits.trial');
    proves('choice.slot.run-out');
    const { id, key } = await open({ slots: 1 });
    const end = service.platform.time.now() + 7 * DAY;
    await remove(key, await pair(id));
    expect((await read(key)).slots).toEqual({ total: 1, used: 0, available: 1, nextExpiry: at(end) });
    await service.platform.time.advance({ ms: 7 * DAY });
    expect((await read(key)).slots).toEqual({ total: 1, used: 0, available: 0, nextExpiry: at(end) });
    await pair(id);
    expect((await read(key)).slots).toMatchObject({ used: 0, available: 0 });
  });

  test('nextExpiry is the next license to end, and a past one only if no other follows', async () => {
    proves('account.slots.nextExpiry', 'choice.next-expiry');
    const { id, key } = await open();
    const { licenses, time } = service.platform;
    const start = time.now();
    const [one, two] = [await pair(id), await pair(id)];
    expect((await read(key)).slots.nextExpiry).toBe(at(start + 7 * DAY));
    await licenses.set(one, { expiresAt: start + 3 * DAY });
    expect((await read(key)).slots.nextExpiry).toBe(at(start + 3 * DAY));
    await time.advance({ ms: 3 * DAY });
    expect((await read(key)).slots.nextExpiry).toBe(at(start + 7 * DAY));
    await licenses.set(two, { status: 'none' });
    expect((await read(key)).slots.nextExpiry).toBe(at(start + 3 * DAY));
    await licenses.set(one, { status: 'active', expiresAt: start + 33 * DAY });
    expect((await read(key)).slots.nextExpiry).toBe(at(start + 33 * DAY));
  });

  test('a license bought beyond the slots adds a slot; a returned slot is renewed first', async () => {
    const { id, key } = await open({ slots: 1 });
    const first = await pair(id);
    const second = await pair(id);
    const { licenses } = service.platform;
    await licenses.set(second, { status: 'active' });
    expect((await read(key)).slots).toMatchObject({ total: 2, used: 2, available: 0 });
    await remove(key, first);
    const third = await addConnection(service, id, '4915112345679', 'cloud_api');
    await licenses.set(third.id, { status: 'none' });
    expect((await read(key)).slots).toMatchObject({ total: 1, used: 1, available: 0 });
    await remove(key, second);
    await licenses.set(third.id, { status: 'active' });
    expect((await read(key)).slots).toMatchObject({ total: 1, used: 1, available: 0 });
  });

  test('the add-ons of a portal workspace are its slots, and none is available', async () => {
    proves('service.portal.addon', 'choice.account.portal');
    const { id, key } = await open({ kind: 'crm_portal', slots: 5 });
    expect((await read(key)).slots).toEqual({ total: 0, used: 0, available: 0, nextExpiry: null });
    const bought = await pair(id);
    await pair(id, false);
    expect(await read(key)).toMatchObject({
      slots: { total: 1, used: 1, available: 0 },
      connections: { total: 2, connected: 2 },
    });
    await remove(key, bought);
    await pair(id);
    expect((await read(key)).slots).toMatchObject({ total: 1, used: 1, available: 0 });
  });

  test('a key with a connection list counts its own connections, and all slots of the workspace', async () => {
    proves('choice.account.reach');
    const { id } = await open({ slots: 4 });
    const [mine, other] = [await pair(id), await pair(id)];
    await service.platform.outages.begin(other, { cause: 'session_lost' });
    await service.platform.time.advance({ ms: 300_000 });
    const { key, id: keyId } = await service.platform.apiKeys.create(id, { connectionIds: [mine] });
    expect(await read(key)).toMatchObject({
      slots: { total: 4, used: 2, available: 2 },
      connections: { total: 1, connected: 1, needsReconnect: 0 },
    });
    await service.platform.apiKeys.change(keyId, { connectionIds: [other] });
    expect((await read(key)).connections).toEqual({ total: 1, connected: 0, needsReconnect: 1 });
  });
});
