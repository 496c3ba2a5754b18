import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Clock } from '../../../src/runtime/clock/clock.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import type { Notifier } from '../../../src/runtime/notifier/notifier.ts';
import { readRedisNodes } from '../../../src/runtime/notifier/redis-connection.ts';
import { openRedisNotifier } from '../../../src/runtime/notifier/redis-notifier.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { REDIS_MISSING, startTestRedis, type TestRedis } from '../../support/redis.ts';

/** Stopped after the test, once its notifiers have closed. */
async function start(settings: readonly string[] = [], port?: number): Promise<TestRedis> {
  const server = await startTestRedis(settings, port);
  onTestFinished(() => server.stop());
  return server;
}

async function open(
  redisUrl: string,
  clock: Clock = systemClock,
  onError: (error: unknown) => void = () => undefined,
): Promise<Notifier> {
  const notifier = await openRedisNotifier({ redisUrl, prefix: 'redis', clock, onError });
  onTestFinished(() => notifier.close());
  return notifier;
}

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

  it('can name several nodes of a cluster', () => {
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

  it.each(['', 'localhost:6379', 'http://a', 'redis://a,nonsense:cAnaRy', 'redis://', 'redis://:cAnaRy%@a'])(
    'is rejected if it is %j',
    (url) => {
      expect(() => readRedisNodes(url)).toThrow('REDIS_URL');
      expect(() => readRedisNodes(url)).not.toThrow('cAnaRy');
    },
  );
});

describe.skipIf(REDIS_MISSING !== undefined)(
  `Redis${REDIS_MISSING === undefined ? '' : ` (skipped: ${REDIS_MISSING})`}`,
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

    it('is refused when its user may not run INFO', async () => {
      const server = await start(['--user', 'app', 'on', '>pw', '~*', '&*', '+@all', '-@dangerous']);
      await expect(open(server.url.replace('//', '//app:pw@'))).rejects.toMatchObject({
        name: 'ConfigurationError',
        message: expect.stringMatching('REDIS_URL: .*: redis-cli ACL SETUSER app [+]info'),
      });
    });

    it('can require a password', async () => {
      const server = await start(['--requirepass', 'right-cAnaRy']);
      const notifier = await open(server.url.replace('//', '//:right-cAnaRy@'));
      const heard: string[] = [];
      notifier.subscribe('work', async (key) => void heard.push(key));
      notifier.notify('work', 'key');
      await expect.poll(() => heard).toEqual(['key']);
    });

    it('that is away at the start is named without its password, and used once it answers', async () => {
      const server = await start();
      await server.stop();
      const clock = new ManualClock();
      const errors: unknown[] = [];
      const opening = open(server.url.replace('//', '//:cAnaRy@'), clock, (error) => errors.push(error));
      await clock.advance(10_000);
      const notifier = await opening;
      expect(errors).toContainEqual(
        expect.objectContaining({
          name: 'NotifierUnavailable',
          message: `Redis at 127.0.0.1:${server.port} (REDIS_URL): no response within 10000 ms`,
        }),
      );
      const heard: string[] = [];
      notifier.subscribe('work', async (key) => void heard.push(key));
      notifier.notify('work', 'own');
      await expect.poll(() => heard).toEqual(['own']);
      await start(['--requirepass', 'cAnaRy'], server.port);
      const other = await open(server.url.replace('//', '//:cAnaRy@'));
      other.notify('work', 'of another process');
      await expect
        .poll(async () => {
          await clock.advance(1_000);
          return heard;
        })
        .toEqual(['own', 'of another process']);
      const closed = notifier.close();
      await clock.advance(2_000);
      await closed;
    });

    it('that refuses the password is named as a wrong setting, without waiting', async () => {
      const server = await start(['--requirepass', 'right']);
      await expect(open(server.url.replace('//', '//:cAnaRy@'))).rejects.toMatchObject({
        name: 'ConfigurationError',
        message: expect.not.stringContaining('cAnaRy'),
      });
    });

    it('passes a key to a process with capacity, and keeps a delayed one although its sender is gone', async () => {
      const server = await start();
      const [busy, idle, asker] = [await open(server.url), await open(server.url), await open(server.url)];
      const released = Promise.withResolvers<void>();
      onTestFinished(() => released.resolve());
      const heard: string[] = [];
      busy.subscribe('work', () => released.promise);
      for (let index = 0; index < 4; index += 1) asker.notify('work', `held-${index}`);
      const held = new Redis(server.url);
      onTestFinished(() => held.disconnect());
      await expect.poll(() => held.llen('{redis-work}:redis-work:active')).toBe(4);
      idle.subscribe('work', async (key) => void heard.push(key));
      asker.notify('work', 'now');
      asker.notify('work', 'later', 300);
      await expect.poll(() => held.zcard('{redis-work}:redis-work:delayed')).toBe(1);
      await asker.close();
      await expect.poll(() => heard).toEqual(['now', 'later']);
    });

    it('can be killed and come back empty', async () => {
      const server = await start();
      const [sender, receiver] = [await open(server.url), await open(server.url)];
      const heard: string[] = [];
      receiver.subscribe('work', async (key) => void heard.push(key));
      sender.notify('work', 'before');
      await expect.poll(() => heard).toEqual(['before']);
      await server.stop();
      await start([], server.port);
      await expect
        .poll(() => {
          sender.notify('work', 'after');
          return heard;
        })
        .toContain('after');
    });

    it('that has become a replica is connected to again, because its name may lead to the new primary', async () => {
      const [server, primary] = [await start(), await start()];
      const notifier = await open(server.url);
      const admin = new Redis(server.url);
      onTestFinished(() => admin.disconnect());
      const connections = async () =>
        Number(/total_connections_received:(\d+)/.exec(await admin.info('stats'))?.[1]);
      const before = await connections();
      await admin.replicaof('127.0.0.1', primary.port);
      notifier.notify('work', 'refused');
      await expect.poll(connections).toBe(before + 1);
    });

    it('keeps no finished jobs', async () => {
      const server = await start();
      const notifier = await open(server.url);
      const heard: string[] = [];
      notifier.subscribe('work', async (key) => void heard.push(key));
      for (let index = 0; index < 20; index += 1) notifier.notify('work', `k${index}`);
      await expect.poll(() => heard.length).toBe(20);
      const admin = new Redis(server.url);
      onTestFinished(() => admin.disconnect());
      const jobs = async () =>
        (await admin.keys('{redis-work}:redis-work:*')).filter((key) => /:\d+$/.test(key));
      await expect.poll(jobs).toEqual([]);
    });

    it('is asked once a second while it is full, and again at once when it has room', async () => {
      const server = await start(['--maxmemory', '1mb']);
      const errors: unknown[] = [];
      const onError = (error: unknown): void => void errors.push(error);
      const options = { redisUrl: server.url, prefix: 'redis', clock: systemClock, onError };
      const notifier = await openRedisNotifier(options);
      onTestFinished(() => notifier.close());
      const heard: string[] = [];
      notifier.subscribe('work', async (key) => void heard.push(key));
      await expect.poll(() => errors.length).toBeGreaterThan(0);
      const admin = new Redis(server.url);
      onTestFinished(() => admin.disconnect());
      const before = errors.length;
      // Far less than a second: a worker without a rest fails more often than that.
      for (let round = 0; round < 1_000; round += 1) await admin.ping();
      expect(errors.length - before).toBeLessThan(20);
      await admin.config('SET', 'maxmemory', '0');
      notifier.notify('work', 'after');
      await expect.poll(() => heard, { timeout: 20_000 }).toEqual(['after']);
    });

    it('can be a cluster', async () => {
      const nodes = await Promise.all([1, 2, 3].map(() => start(['--cluster-enabled', 'yes'])));
      const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
      await promisify(execFile)('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-yes']);
      await Promise.all(nodes.map(({ url }) => clusterIsUp(url)));
      const notifier = await open(nodes.map(({ url }) => url).join(','));
      const heard: string[] = [];
      // Each topic has its own slot, so ten of them are spread over the nodes.
      for (let topic = 0; topic < 10; topic += 1) {
        notifier.subscribe(`work${topic}`, async (key) => void heard.push(`${topic} ${key}`));
        notifier.notify(`work${topic}`, 'key');
      }
      await expect.poll(() => new Set(heard).size).toBe(10);
    });
  },
);

async function clusterIsUp(url: string): Promise<void> {
  const connection = new Redis(url);
  await expect.poll(() => connection.cluster('INFO'), { timeout: 20_000 }).toContain('cluster_state:ok');
  connection.disconnect();
}
