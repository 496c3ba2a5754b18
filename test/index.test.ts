import { expect, it } from 'vitest';
import { loadedBy } from './support/loaded-modules.ts';
import { ROOT } from './support/root.ts';

it('importing the package index loads the connector but not the service', async () => {
  const loaded = await loadedBy('./src/index.ts', ROOT);
  expect(loaded.filter((url) => /\/src\/(?:platform|sandbox|console)\//.test(url))).toEqual([]);
  expect(
    loaded.filter((url) => /\/node_modules\/(?:@modelcontextprotocol|bullmq|ioredis|pngjs|qr)\//.test(url)),
  ).toEqual([]);
  expect(loaded.some((url) => url.endsWith('/src/connector/connector.ts'))).toBe(true);
});
