import { describe, expect, test } from 'vitest';
import { connectionListAnswer } from '../../../src/contract/service/connections.ts';
import { ofFile } from '../../support/of-file.ts';
import { addConnection, readExactly, seedWorkspace, startTestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';

const DAY = 86_400_000;

describe('GET /connections', () => {
  const service = ofFile(startTestPlatform);

  async function list(key: string) {
    const answer = await service.call('GET', '/connections', { key });
    expect(answer.status).toBe(200);
    return readExactly(connectionListAnswer, answer.body).connections;
  }

  test('returns exactly the fields of the list item, for either kind', async () => {
    proves('connections.item.exact', 'connections.item.id', 'connections.item.phoneNumber');
    proves('connections.item.label', 'connections.item.status', 'connections.item.isDefault');
    proves('connections.item.provider', 'connections.item.tier', 'connections.item.profilePicUrl');
    proves('connections.item.licenseValid', 'connections.item.licenseStatus');
    proves('connections.item.licenseExpires', 'connections.item.phone', 'connections.item.name');
    proves('connections.list.answer');
    proves('service.provider.kinds', 'service.provider.same-shapes');
    proves('versioning.aliases', 'versioning.camel-case');
    proves('wire.timestamps.rest');
    proves('choice.aliases', 'choice.tier.values');
    const { key, workspaceId, connectionId } = await seedWorkspace(service);
    const cloud = { provider: 'cloud_api', phoneNumber: '447700900178', label: 'Shop' } as const;
    const { id: cloudId } = await service.platform.connections.createPaired(workspaceId, cloud);
    const shared = {
      status: 'open',
      profilePicUrl: expect.stringMatching(/^https?:\/\/[^\s]+$/),
      licenseValid: true,
      licenseStatus: 'trial',
      licenseExpires: new Date(service.platform.time.now() + 7 * DAY).toISOString(),
    };
    expect((await service.call('GET', '/connections', { key })).body).toEqual({
      connections: [
        {
          ...shared,
          id: connectionId,
          phoneNumber: '4915112345678',
          phone: '4915112345678',
          label: 'Front desk',
          name: 'Front desk',
          isDefault: true,
          provider: 'qr',
          tier: 'basic',
        },
        {
          ...shared,
          id: cloudId,
          phoneNumber: '447700900178',
          phone: '447700900178',
          label: 'Shop',
          name: 'Shop',
          isDefault: false,
          provider: 'cloud_api',
          tier: 'pro',
        },
      ],
    });
    for (const id of [connectionId, cloudId]) expect(id).toMatch(/^c[a-z0-9]{20,31}$/);
  });

  test('returns a picture URL that the service serves', async () => {
    proves('connections.item.profilePicUrl', 'choice.picture.neutral');
    const { key } = await seedWorkspace(service);
    const [item] = await list(key);
    const picture = await fetch(item?.profilePicUrl ?? '');
    expect(picture.status).toBe(200);
    expect(picture.headers.get('content-type')).toContain('image/');
  });

  test('is empty for a workspace without connections', async () => {
    proves('connections.list.empty');
    const workspace = await service.platform.workspaces.create({ kind: 'standalone' });
    const { key } = await service.platform.apiKeys.create(workspace.id);
    expect(await list(key)).toEqual([]);
  });

  test('hides a connection whose license has lapsed, and shows it again once renewed', async () => {
    proves('service.gate.visible', 'service.standalone.paid-after', 'choice.unlicensed.hidden');
    const { key, connectionId } = await seedWorkspace(service);
    await service.platform.licenses.set(connectionId, { expiresAt: service.platform.time.now() - 1 });
    expect(await list(key)).toEqual([]);
    await service.platform.licenses.set(connectionId, { status: 'active' });
    expect(await list(key)).toMatchObject([{ id: connectionId, licenseStatus: 'active' }]);
  });

  test('hides a portal connection without its add-on', async () => {
    proves('service.portal.addon', 'service.gate.visible');
    const { key, workspaceId, connectionId } = await seedWorkspace(service, { kind: 'crm_portal' });
    await service.platform.connections.createPaired(workspaceId, {
      provider: 'qr',
      phoneNumber: '4915100000001',
      addon: false,
    });
    expect(await list(key)).toMatchObject([{ id: connectionId, licenseStatus: 'active' }]);
  });

  test('lists only what the key has access to, and applies a narrowing on the next call', async () => {
    proves('auth.key.live-connections');
    const { workspaceId, connectionId } = await seedWorkspace(service);
    const second = await addConnection(service, workspaceId, '4915100000002', 'cloud_api');
    const { id, key } = await service.platform.apiKeys.create(workspaceId);
    expect((await list(key)).map((item) => item.id)).toEqual([connectionId, second.id]);
    await service.platform.apiKeys.change(id, { connectionIds: [second.id] });
    expect((await list(key)).map((item) => item.id)).toEqual([second.id]);
    await service.platform.apiKeys.change(id, { connectionIds: [] });
    expect(await list(key)).toEqual([]);
  });

  test('never lists a connection of another workspace', async () => {
    const other = await seedWorkspace(service);
    const { workspaceId, connectionId } = await seedWorkspace(service);
    const { key } = await service.platform.apiKeys.create(workspaceId, {
      connectionIds: [connectionId, other.connectionId],
    });
    expect((await list(key)).map((item) => item.id)).toEqual([connectionId]);
  });
});
