import { describe, expect, test } from 'vitest';
import { ofFile } from '../../support/of-file.ts';
import { startTestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';

const DAY = 86_400_000;

describe('licenses', () => {
  const service = ofFile(startTestPlatform);

  let paired = 0;
  async function pair(workspaceId: string, provider: 'qr' | 'cloud_api' = 'qr'): Promise<string> {
    paired += 1;
    const { id } = await service.platform.connections.createPaired(workspaceId, {
      provider,
      phoneNumber: `4915112340${paired}`,
    });
    return id;
  }

  const visible = async (key: string): Promise<unknown> =>
    (await service.call('GET', '/connections', { key })).body;

  test('of many numbers that pair at once, no more than there are slots get one', async () => {
    const { id } = await service.platform.workspaces.create({ kind: 'standalone', slots: 2 });
    const { key } = await service.platform.apiKeys.create(id);
    await Promise.all(Array.from({ length: 8 }, () => pair(id)));
    expect(await visible(key)).toMatchObject({ connections: [{}, {}] });
    const defaults = await service.database.query(
      'SELECT 1 FROM platform.connections WHERE workspace_id = $1 AND is_default',
      [id],
    );
    expect(defaults).toHaveLength(1);
  });

  test('set returns the current license', async () => {
    proves('choice.license.values');
    const { id } = await service.platform.workspaces.create({ kind: 'standalone' });
    const connection = await pair(id);
    const now = service.platform.time.now();
    const { set } = service.platform.licenses;
    expect(await set(connection, { expiresAt: now + DAY })).toEqual({
      status: 'trial',
      valid: true,
      expiresAt: now + DAY,
    });
    expect(await set(connection, { status: 'active' })).toEqual({
      status: 'active',
      valid: true,
      expiresAt: now + DAY,
    });
    expect(await set(connection, { expiresAt: now })).toEqual({
      status: 'expired',
      valid: false,
      expiresAt: now,
    });
    expect(await set(connection, { status: 'active' })).toMatchObject({ status: 'active', valid: true });
    expect(await set(connection, { status: 'expired' })).toEqual({
      status: 'expired',
      valid: false,
      expiresAt: now,
    });
    await set(connection, { expiresAt: now - DAY });
    expect(await set(connection, { status: 'expired' })).toEqual({
      status: 'expired',
      valid: false,
      expiresAt: now - DAY,
    });
    expect(await set(connection, { status: 'none' })).toEqual({
      status: 'none',
      valid: false,
      expiresAt: null,
    });
    expect(await set(connection, { status: 'trial' })).toEqual({
      status: 'trial',
      valid: true,
      expiresAt: now + 7 * DAY,
    });
    expect(await set(connection, { status: 'trial', expiresAt: now + 5 })).toEqual({
      status: 'trial',
      valid: true,
      expiresAt: now + 5,
    });
  });

  test('set refuses contradictory input and an unknown connection', async () => {
    const { id } = await service.platform.workspaces.create({ kind: 'standalone' });
    const connection = await pair(id);
    const { licenses, time } = service.platform;
    const contradiction = licenses.set(connection, { status: 'expired', expiresAt: time.now() + DAY });
    await expect(contradiction).rejects.toMatchObject({ code: 'invalid_request', field: 'expiresAt' });
    const expiryOfNone = licenses.set(connection, { status: 'none', expiresAt: time.now() + DAY });
    await expect(expiryOfNone).rejects.toMatchObject({ code: 'invalid_request', field: 'expiresAt' });
    await expect(licenses.set('unknown', { status: 'active' })).rejects.toMatchObject({ code: 'not_found' });
  });
});
