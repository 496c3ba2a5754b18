import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Queues } from '../../../src/runtime/queue/queues.ts';
import { Calls } from './calls.ts';
import { STORES, type StoreUnderTest } from './stores.ts';

let queueNumber = 0;
const nextQueue = (): string => `s${++queueNumber}`;

const EVERY_100_MS = { everyMs: 100, jitter: 0 };
const HOURLY = { everyMs: 3_600_000, jitter: 0.3 };

for (const kind of STORES) {
  const title = `schedules on ${kind.name}${kind.missing === undefined ? '' : ` (skipped: ${kind.missing})`}`;
  describe.skipIf(kind.missing !== undefined)(title, () => {
    let store: StoreUnderTest;
    let first: Queues;
    let second: Queues;

    beforeAll(async () => {
      store = await kind.start();
      first = await store.open({ repairMs: 50 });
      second = await store.open({ repairMs: 50 });
    });
    afterAll(() => store.close());

    it('run a handler again and again, with the data they were declared with', async () => {
      const queue = nextQueue();
      const calls = new Calls();
      first.work(queue, calls.handler);
      await first.schedule(queue, 'poll:a1', { accountId: 'a1', full: false }, EVERY_100_MS);
      await calls.reach(4);

      expect(calls.seen[0]?.data).toEqual({ accountId: 'a1', full: false });
      expect(calls.seen[3]?.data).toEqual({ accountId: 'a1', full: false });
      await first.unschedule(queue, 'poll:a1');
    });

    it('run once over all processes that declare them', async () => {
      const queue = nextQueue();
      const calls = new Calls();
      first.work(queue, calls.handler);
      second.work(queue, calls.handler);
      const declare = (queues: Queues): Promise<void> => queues.schedule(queue, 'one', {}, EVERY_100_MS);
      await Promise.all([declare(first), declare(second), declare(first), declare(second)]);
      await calls.reach(6);

      // Each chain of runs has a job of its own in the store, waiting or running.
      await expect.poll(() => store.countJobs(queue), { timeout: 10_000 }).toBe(1);
      await first.unschedule(queue, 'one');
    });

    it('are spread by their jitter', async () => {
      const queue = nextQueue();
      const calls = new Calls();
      first.work(queue, calls.handler);
      await first.schedule(queue, 'spread', {}, { everyMs: 100, jitter: 0.9 });
      await calls.reach(15);
      await first.unschedule(queue, 'spread');

      const intervals = calls.seen.slice(1).map(({ at }, index) => at - (calls.seen[index]?.at ?? 0));
      expect(Math.max(...intervals) - Math.min(...intervals)).toBeGreaterThan(60);
    });

    it('are not put off by being declared again', async () => {
      const queue = nextQueue();
      const calls = new Calls();
      first.work(queue, calls.handler);
      await first.schedule(queue, 'steady', { b: 1, aa: 2 }, { everyMs: 400, jitter: 0 });
      let over = false;
      const runs = calls.reach(2).then(() => {
        over = true;
      });
      // Each declaration would move the next run away if it replaced the one before.
      while (!over) await second.schedule(queue, 'steady', { aa: 2, b: 1 }, { everyMs: 400, jitter: 0 });
      await runs;
      await first.unschedule(queue, 'steady');
    });

    it('move to a new period when they are declared with it', async () => {
      const queue = nextQueue();
      const calls = new Calls();
      first.work(queue, calls.handler);
      await first.schedule(queue, 'moved', { period: 'long' }, HOURLY);
      await second.schedule(queue, 'moved', { period: 'short' }, EVERY_100_MS);
      await calls.reach(2);

      expect(calls.seen.map(({ data }) => data)).toEqual([{ period: 'short' }, { period: 'short' }]);
      await first.unschedule(queue, 'moved');
    });

    it('end for every process, and do not come back', async () => {
      const queue = nextQueue();
      const calls = new Calls();
      first.work(queue, calls.handler);
      await first.schedule(queue, 'ended', {}, EVERY_100_MS);
      await second.schedule(queue, 'ended', {}, EVERY_100_MS);
      await calls.reach(1);
      await second.unschedule(queue, 'ended');
      await second.unschedule(queue, 'never declared');
      const before = calls.seen.length;

      // Another schedule shows that time has passed, and repairs with it.
      await first.schedule(queue, 'meter', { meter: true }, EVERY_100_MS);
      const countMeter = (): number => calls.seen.filter(({ data }) => data['meter']).length;
      await expect.poll(countMeter, { timeout: 20_000 }).toBeGreaterThan(4);
      expect(calls.seen.filter(({ data }) => !data['meter']).length).toBeLessThanOrEqual(before + 1);
      await first.unschedule(queue, 'meter');
    });

    it('come back by themselves when the store has lost everything', async () => {
      const queue = nextQueue();
      const calls = new Calls();
      first.work(queue, calls.handler);
      await first.schedule(queue, 'lost', { id: 'lost' }, EVERY_100_MS);
      await calls.reach(1);
      await store.wipe();
      await calls.more(3);
      expect(calls.seen.at(-1)?.data).toEqual({ id: 'lost' });
      await first.unschedule(queue, 'lost');
    });

    it('go on after all connections to the store were ended', async () => {
      const queue = nextQueue();
      const calls = new Calls();
      first.work(queue, calls.handler);
      await first.schedule(queue, 'killed', {}, EVERY_100_MS);
      for (let round = 0; round < 3; round++) {
        await calls.more(2);
        await store.killConnections();
      }
      await calls.more(3);
      await expect
        .poll(() => first.unschedule(queue, 'killed').then(() => 'ended'), { timeout: 20_000 })
        .toBe('ended');
    });

    it('refuse a period and a jitter that make no sense', async () => {
      await expect(first.schedule('q', 'k', {}, { everyMs: 0, jitter: 0 })).rejects.toThrow(TypeError);
      await expect(first.schedule('q', 'k', {}, { everyMs: 1_000, jitter: 2 })).rejects.toThrow(TypeError);
    });
  });
}
