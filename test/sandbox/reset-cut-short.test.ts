import { expect, it } from 'vitest';
import { startTestSandbox } from './fixture.ts';

it('a reset that was interrupted by the end of its process is completed by the next start', async () => {
  const test = await startTestSandbox();
  const { platform, database } = test.service;
  const before = test.sandbox.seed;
  platform.workspaces.create = () => Promise.reject(new Error('the process is gone'));
  expect((await test.call('POST', '/reset')).status).toBe(500);
  await test.service.restart();

  const { seed } = (await test.again()).sandbox;
  expect(seed).not.toEqual(before);
  expect((await test.service.call('GET', '/connections', { key: seed.apiKey })).status).toBe(200);
  const workspaces = await database.query<{ id: string }>('SELECT id FROM platform.workspaces');
  expect(workspaces).toEqual([{ id: seed.workspaceId }]);
  expect((await test.again()).sandbox.seed).toEqual(seed);
  await test.close();
});
