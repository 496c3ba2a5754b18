import { expect, it, onTestFinished } from 'vitest';
import { startConnector } from '../src/index.ts';
import { findEmbeddedPostgres } from '../src/runtime/database/embedded/find-running.ts';
import { generateSealingKey } from '../src/runtime/sealing/sealing-key.ts';
import { makeDataFolder } from './support/data-folder.ts';
import { listen } from './support/listen.ts';
import { loadedBy } from './support/loaded-modules.ts';
import { silentLogger } from './support/platform.ts';
import { ROOT } from './support/root.ts';

it('importing the package index loads the connector but not the service', async () => {
  const loaded = await loadedBy('./src/index.ts', ROOT);
  expect(loaded.filter((url) => /\/src\/(?:platform|sandbox|console)\//.test(url))).toEqual([]);
  expect(
    loaded.filter((url) => /\/node_modules\/(?:@modelcontextprotocol|bullmq|ioredis|pngjs|qr)\//.test(url)),
  ).toEqual([]);
  expect(loaded.some((url) => url.endsWith('/src/connector/connector.ts'))).toBe(true);
});

it('a start that fails stops the embedded Postgres that it has started', async () => {
  const folder = await makeDataFolder();
  onTestFinished(() => folder.remove());
  const other = await listen((_request, response) => response.end());
  onTestFinished(() => other.drain());
  const env = {
    CONNECTOR_API_TOKEN: 'token-of-a-test-0123456789',
    CONNECTOR_SEALING_KEYS: generateSealingKey(),
    CONNECTOR_PORT: String(other.port),
    WEBHOOK_SECRET: 'secret-of-a-test-0123456789',
    SERVICE_BASE_URL: 'http://127.0.0.1:9/api/v1',
    SERVICE_API_KEY: 'key-1',
  };
  await expect(startConnector({ env, dataDir: folder.path, logger: silentLogger })).rejects.toThrow('in use');
  expect((await findEmbeddedPostgres(folder.path)).kind).toBe('stopped');
});
