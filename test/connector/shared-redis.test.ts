import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { openPool } from '../support/database.ts';
import { REDIS_MISSING, startTestRedis, type TestRedis } from '../support/redis.ts';
import { runTestConnector } from '../support/run-test-connector.ts';

let redis: TestRedis;

beforeAll(async () => {
  if (REDIS_MISSING === undefined) redis = await startTestRedis();
});
afterAll(() => redis?.stop());

it.skipIf(REDIS_MISSING !== undefined)('deployments that share a Redis share no key', async () => {
  const client = new Redis(redis.url);
  onTestFinished(() => client.disconnect());
  for (const feedId of ['aaaaaaaaaaaa', 'bbbbbbbbbbbb']) {
    const prepare = async (url: string): Promise<void> => {
      const database = openPool(url);
      await database.query('update connector.feed set id = $1', [feedId]);
      await database.close();
    };
    const { close } = await runTestConnector({ redisUrl: redis.url, prepare });
    onTestFinished(close);
  }
  await vi.waitFor(async () => {
    const keys = await client.keys('*');
    const owners = keys.map((key) => /^\{connector-([0-9a-z]+)-/.exec(key)?.[1]);
    expect([...new Set(owners)].sort()).toEqual(['aaaaaaaaaaaa', 'bbbbbbbbbbbb']);
  });
});
