import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';
import { openQueues } from '../../../src/runtime/queue/open-queues.ts';
import type { Queues } from '../../../src/runtime/queue/queues.ts';
import { createTestDatabase } from '../../support/database.ts';
import { type FaultProxy, startFaultProxy } from '../../support/fault-proxy.ts';
import { REDIS_MISSING, startTestRedis } from '../../support/redis.ts';
import { Calls } from './calls.ts';

const lines: string[] = [];
const logger = createLogger({
  level: 'trace',
  name: 'test',
  destination: { write: (line) => lines.push(line) },
});
const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  lines.length = 0;
});

interface Prepared {
  readonly proxy: FaultProxy;
  readonly open: () => Promise<Queues>;
}

async function behindProxy(target: string, toOptions: (url: string) => object): Promise<Prepared> {
  const { hostname, port } = new URL(target);
  const proxy = await startFaultProxy({ host: hostname, port: Number(port) });
  cleanups.push(() => proxy.close());
  const url = proxy.route(target);
  return {
    proxy,
    async open() {
      const queues = await openQueues({
        databaseUrl: url,
        ...toOptions(url),
        prefix: 'outage',
        clock: systemClock,
        logger,
        graceMs: 200,
        repairMs: 200,
      });
      cleanups.push(() => queues.close());
      return queues;
    },
  };
}

const STORES = [
  {
    name: 'Postgres',
    missing: undefined,
    async start(): Promise<Prepared> {
      const database = await createTestDatabase();
      cleanups.push(() => database.drop());
      return behindProxy(database.url, () => ({}));
    },
  },
  {
    name: 'Redis',
    missing: REDIS_MISSING,
    async start(): Promise<Prepared> {
      const redis = await startTestRedis();
      cleanups.push(() => redis.stop());
      return behindProxy(redis.url, (redisUrl) => ({ redisUrl }));
    },
  },
];

/** What becomes of a call: 'taken', or the name of the error. */
function outcome(call: Promise<void>): Promise<string> {
  return call.then(
    () => 'taken',
    (error: unknown) => (error instanceof Error ? error.name : 'unknown'),
  );
}

for (const store of STORES) {
  const title = `queues on ${store.name}${store.missing === undefined ? '' : ` (skipped: ${store.missing})`}`;
  describe.skipIf(store.missing !== undefined)(title, () => {
    it('fail calls at once while their store refuses connections, and go on when it is back', async () => {
      const { proxy, open } = await store.start();
      const queues = await open();
      const calls = new Calls();
      queues.work('jobs', calls.handler);
      await queues.wake('jobs', { i: 1 });
      await calls.reach(1);
      await proxy.refuse();
      proxy.cut();

      const start = systemClock.elapsed();
      expect(await outcome(queues.wake('jobs', { i: 2 }))).toBe('QueueUnavailable');
      expect(await outcome(queues.ping())).toBe('QueueUnavailable');
      expect(systemClock.elapsed() - start).toBeLessThan(4_000);

      await proxy.accept();
      await expect.poll(() => outcome(queues.wake('jobs', { i: 3 })), { timeout: 20_000 }).toBe('taken');
      await expect.poll(() => calls.seen.some(({ data }) => data['i'] === 3), { timeout: 20_000 }).toBe(true);
    });

    it('fail calls by their deadline while the network is frozen, and go on when it thaws', async () => {
      const { proxy, open } = await store.start();
      const queues = await open();
      const calls = new Calls();
      queues.work('jobs', calls.handler);
      await queues.wake('jobs', { i: 1 });
      await calls.reach(1);
      proxy.freeze();

      const outcomes = await Promise.all([
        outcome(queues.wake('jobs', { i: 2 })),
        outcome(queues.schedule('jobs', 'k', {}, { everyMs: 60_000, jitter: 0 })),
        outcome(queues.ping()),
      ]);
      expect(outcomes).toEqual(['QueueUnavailable', 'QueueUnavailable', 'QueueUnavailable']);

      proxy.thaw();
      await expect.poll(() => outcome(queues.wake('jobs', { i: 3 })), { timeout: 20_000 }).toBe('taken');
      await expect.poll(() => calls.seen.some(({ data }) => data['i'] === 3), { timeout: 20_000 }).toBe(true);
    });

    it('close within bounds while the network is frozen', async () => {
      const { proxy, open } = await store.start();
      const queues = await open();
      queues.work('jobs', () => Promise.resolve());
      await queues.ping();
      proxy.freeze();
      await queues.close();
    });

    it('begin to work once a store that was away when they were told to is back', async () => {
      const { proxy, open } = await store.start();
      const queues = await open();
      const calls = new Calls();
      await proxy.refuse();
      proxy.cut();
      queues.work('late', calls.handler);
      expect(await outcome(queues.schedule('late', 'k', { late: true }, { everyMs: 100, jitter: 0 }))).toBe(
        'QueueUnavailable',
      );
      await proxy.accept();
      // The schedule is declared by the repair, the worker starts by itself.
      await calls.reach(2);
      expect(calls.seen[0]?.data).toEqual({ late: true });
    });

    it('log an outage in few lines', async () => {
      const { proxy, open } = await store.start();
      const queues = await open();
      queues.work('jobs', () => Promise.resolve());
      await queues.ping();
      await proxy.refuse();
      proxy.cut();
      for (let i = 0; i < 20; i++) await outcome(queues.wake('jobs', { i }));
      expect(lines.length).toBeGreaterThan(0);
      expect(lines.length).toBeLessThan(6);
    });
  });
}
