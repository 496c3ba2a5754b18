import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';
import { openQueues } from '../../../src/runtime/queue/open-queues.ts';
import type { Queues } from '../../../src/runtime/queue/queues.ts';
import { readRedisNodes } from '../../../src/runtime/queue/redis-connection.ts';
import { REDIS_MISSING, startTestRedis, type TestRedis } from '../../support/redis.ts';
import { Calls } from './calls.ts';

const logger = createLogger({ level: 'silent', name: 'test' });
const servers: TestRedis[] = [];

async function start(settings: readonly string[] = []): Promise<TestRedis> {
  const server = await startTestRedis(settings);
  servers.push(server);
  return server;
}

function open(redisUrl: string): Promise<Queues> {
  return openQueues({
    databaseUrl: 'postgres://not-used',
    redisUrl,
    prefix: 'redis',
    clock: systemClock,
    logger,
  });
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

describe('the address of Redis', () => {
  it('is read with user, password, database and TLS', () => {
    expect(readRedisNodes('rediss://user:p%40ss@cache.example/3')).toEqual({
      nodes: [{ host: 'cache.example', port: 6_379 }],
      hosts: 'cache.example:6379',
      db: 3,
      username: 'user',
      password: 'p@ss',
      tls: true,
    });
  });

  it('may name several nodes of a cluster', () => {
    expect(readRedisNodes('redis://:secret@a:7000, redis://b:7001,redis://[::1]:7002')).toMatchObject({
      nodes: [
        { host: 'a', port: 7_000 },
        { host: 'b', port: 7_001 },
        { host: '::1', port: 7_002 },
      ],
      password: 'secret',
      tls: false,
    });
  });

  it.each(['', 'localhost:6379', 'http://a', 'redis://a,nonsense:cAnaRy', 'redis://'])(
    'is refused when it is %j',
    (url) => {
      expect(() => readRedisNodes(url)).toThrow('REDIS_URL');
      expect(() => readRedisNodes(url)).not.toThrow('cAnaRy');
    },
  );
});

describe.skipIf(REDIS_MISSING !== undefined)(
  `Redis under the queues${REDIS_MISSING === undefined ? '' : ` (skipped: ${REDIS_MISSING})`}`,
  () => {
    it.each(['allkeys-lru', 'volatile-ttl'])('is refused when it may evict keys (%s)', async (policy) => {
      const server = await start(['--maxmemory-policy', policy]);
      await expect(open(server.url)).rejects.toMatchObject({
        name: 'ConfigurationError',
        message: expect.stringMatching(
          new RegExp(`maxmemory-policy is ${policy}.*CONFIG SET maxmemory-policy noeviction`),
        ),
      });
    });

    it('may ask for a password, and a wrong one is never shown', async () => {
      const server = await start(['--requirepass', 'right-cAnaRy']);
      const queues = await open(server.url.replace('//', '//:right-cAnaRy@'));
      await queues.ping();
      await queues.close();
    });

    it('has its name in the error when it cannot be reached, and its password has not', async () => {
      const server = await start();
      await server.stop();
      servers.length = 0;
      const opening = open(server.url.replace('//', '//:cAnaRy@'));
      await expect(opening).rejects.toMatchObject({
        name: 'QueueUnavailable',
        message: `Redis at 127.0.0.1:${server.port} (REDIS_URL): no answer in 10000 ms`,
      });
    });

    it('may be killed and come back empty: workers go on, schedules are declared anew', async () => {
      const server = await start();
      const queues = await openQueues({
        databaseUrl: 'postgres://not-used',
        redisUrl: server.url,
        prefix: 'redis',
        clock: systemClock,
        logger,
        repairMs: 100,
      });
      const calls = new Calls();
      queues.work('jobs', calls.handler);
      await queues.schedule('jobs', 'every', {}, { everyMs: 100, jitter: 0 });
      await calls.reach(2);
      await server.stop();
      servers.push(await startTestRedis([], server.port));
      await calls.more(3);
      await queues.close();
    });

    it('may be a cluster', async () => {
      const nodes = await Promise.all([1, 2, 3].map(() => start(['--cluster-enabled', 'yes'])));
      const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
      await promisify(execFile)('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-yes']);
      await Promise.all(nodes.map(({ url }) => clusterIsUp(url)));
      const queues = await open(nodes.map(({ url }) => url).join(','));
      const calls = new Calls();
      // Each queue has a slot of its own, so that ten of them are spread over the nodes.
      for (let i = 0; i < 10; i++) {
        queues.work(`jobs${i}`, calls.handler);
        await queues.wake(`jobs${i}`, { i }, { jobId: 'one' });
      }
      await queues.schedule('jobs1', 'every', { scheduled: true }, { everyMs: 100, jitter: 0.2 });
      await calls.reach(13);
      expect(new Set(calls.seen.map(({ data }) => data['i'])).size).toBe(11);
      await queues.close();
    });
  },
);

async function clusterIsUp(url: string): Promise<void> {
  const connection = new Redis(url);
  await expect.poll(() => connection.cluster('INFO'), { timeout: 20_000 }).toContain('cluster_state:ok');
  connection.disconnect();
}
