import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import type { Queues } from '../../../src/runtime/queue/queues.ts';
import { Calls, defer } from './calls.ts';
import { STORES, type StoreUnderTest } from './stores.ts';

let queueNumber = 0;
const nextQueue = (): string => `q${++queueNumber}`;

for (const kind of STORES) {
  const title = `queues on ${kind.name}${kind.missing === undefined ? '' : ` (skipped: ${kind.missing})`}`;
  describe.skipIf(kind.missing !== undefined)(title, () => {
    let store: StoreUnderTest;
    let queues: Queues;

    beforeAll(async () => {
      store = await kind.start();
      queues = await store.open();
    });
    afterAll(() => store.close());

    it('say what they run on and answer a ping', async () => {
      expect(queues.backend).toBe(kind.backend);
      await queues.ping();
    });

    it('hand a wake-up call to a worker of another process, and keep nothing of it', async () => {
      const queue = nextQueue();
      const calls = new Calls();
      const other = await store.open();
      other.work(queue, calls.handler);
      await queues.wake(queue, { accountId: 'a1', count: 2, full: true });
      await calls.reach(1);

      expect(calls.seen.map(({ data }) => data)).toEqual([{ accountId: 'a1', count: 2, full: true }]);
      await other.close();
      expect(await store.countJobs(queue)).toBe(0);
    });

    it('let one call wait for each job id, whatever is in it', async () => {
      const queue = nextQueue();
      const calls = new Calls();
      for (let i = 0; i < 5; i++) await queues.wake(queue, { lane: 'c:1' }, { jobId: 'lane:c:1' });
      await queues.wake(queue, { lane: '2' }, { jobId: '2' });
      queues.work(queue, calls.handler);
      await queues.wake(queue, { last: true });
      await calls.reach(3);

      expect(calls.seen.map(({ data }) => data)).toEqual([{ lane: 'c:1' }, { lane: '2' }, { last: true }]);
    });

    it('lose no call that comes while a job of the same id runs', async () => {
      const queue = nextQueue();
      const calls = new Calls();
      const running = defer();
      const goOn = defer();
      queues.work(queue, async (data) => {
        await calls.handler(data);
        if (data['call'] === 1) {
          running.resolve();
          await goOn.promise;
        }
      });
      await queues.wake(queue, { call: 1 }, { jobId: 'lane' });
      await running.promise;
      await queues.wake(queue, { call: 2 }, { jobId: 'lane' });
      await queues.wake(queue, { call: 3 }, { jobId: 'lane' });
      goOn.resolve();
      await calls.reach(2);
      await queues.wake(queue, { end: true });
      await calls.reach(3);

      expect(calls.seen.map(({ data }) => data)).toEqual([{ call: 1 }, { call: 3 }, { end: true }]);
    });

    it('hold a delayed call back, and move it when it is called again', async () => {
      const queue = nextQueue();
      const calls = new Calls();
      queues.work(queue, calls.handler);
      const start = systemClock.elapsed();
      await queues.wake(queue, { what: 'delayed' }, { delayMs: 1_300 });
      await queues.wake(queue, { what: 'far' }, { jobId: 'far', delayMs: 3_600_000 });
      await queues.wake(queue, { what: 'now' });
      await queues.wake(queue, { what: 'far' }, { jobId: 'far', delayMs: 2_600 });
      await calls.reach(3);

      expect(calls.seen.map(({ data }) => data['what'])).toEqual(['now', 'delayed', 'far']);
      expect((calls.seen[1]?.at ?? 0) - start).toBeGreaterThanOrEqual(1_299);
    });

    it('call a handler that throws again, with what it was called with', async () => {
      const queue = nextQueue();
      const calls = new Calls();
      queues.work(queue, async (data) => {
        await calls.handler(data);
        if (calls.seen.length === 1) throw new Error('the first time');
      });
      await queues.wake(queue, { id: 'x' });
      await calls.reach(2);
      expect(calls.seen.map(({ data }) => data)).toEqual([{ id: 'x' }, { id: 'x' }]);
    });

    it('work on as many jobs at once as they are told to', async () => {
      const queue = nextQueue();
      const goOn = defer();
      const three = defer();
      let open = 0;
      queues.work(
        queue,
        async () => {
          open += 1;
          if (open === 3) three.resolve();
          await goOn.promise;
        },
        { concurrency: 3 },
      );
      for (let i = 0; i < 5; i++) await queues.wake(queue, { i });
      await three.promise;
      expect(open).toBe(3);
      goOn.resolve();
    });

    it.each([
      ['a text', { text: 'a'.repeat(256) }, 'ids, not texts'],
      ['an object', { nested: {} as string }, 'strings, numbers and booleans only'],
      ['too many values', Object.fromEntries(Array.from({ length: 17 }, (_, i) => [i, 1])), 'at most 16'],
    ])('refuse %s in a job', async (_what, data, message) => {
      await expect(queues.wake('q', data)).rejects.toThrow(message);
      await expect(queues.wake('q', data)).rejects.toThrow(TypeError);
    });

    it('refuse a name that a store cannot hold', async () => {
      await expect(queues.wake('a:b', {})).rejects.toThrow("not 'test-");
    });

    it('refuse calls once they are closed', async () => {
      const closed = await store.open();
      await closed.close();
      await closed.close();
      await expect(closed.wake('q', {})).rejects.toMatchObject({ name: 'QueueUnavailable' });
      await expect(closed.ping()).rejects.toMatchObject({ code: 'queue_unavailable' });
    });

    it('let a running job end before they close, and take no other', async () => {
      const queue = nextQueue();
      const closing = await store.open({ graceMs: 10_000 });
      const running = defer();
      const goOn = defer();
      const seen: unknown[] = [];
      closing.work(queue, async (data) => {
        running.resolve();
        await goOn.promise;
        seen.push(data['job']);
      });
      await queues.wake(queue, { job: 1 });
      await running.promise;
      await queues.wake(queue, { job: 2 });
      const closed = closing.close();
      goOn.resolve();
      await closed;

      expect(seen).toEqual([1]);
      const calls = new Calls();
      queues.work(queue, calls.handler);
      await calls.reach(1);
      expect(calls.seen[0]?.data).toEqual({ job: 2 });
    });

    it('abort the signal of a job that does not end, and close all the same', async () => {
      const queue = nextQueue();
      const closing = await store.open({ graceMs: 50 });
      const running = defer();
      let reason: unknown;
      closing.work(queue, async (_data, signal) => {
        running.resolve();
        await new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => resolve());
        });
        reason = signal.reason;
      });
      await queues.wake(queue, {});
      await running.promise;
      await closing.close();
      expect(reason).toMatchObject({ message: 'the process stops' });
    });

    it('close within bounds when a job ignores its signal', async () => {
      const queue = nextQueue();
      const closing = await store.open({ graceMs: 50 });
      const running = defer();
      closing.work(queue, () => {
        running.resolve();
        return new Promise(() => undefined);
      });
      await queues.wake(queue, {});
      await running.promise;
      await closing.close();
    });

    it('survive the end of all their connections: calls are taken, workers go on', async () => {
      const queue = nextQueue();
      const calls = new Calls();
      queues.work(queue, calls.handler, { concurrency: 2 });
      await queues.wake(queue, { i: 'before' });
      await calls.reach(1);
      for (let round = 0; round < 3; round++) {
        await store.killConnections();
        await expect
          .poll(() => queues.wake(queue, { round }).then(() => 'taken'), { timeout: 20_000 })
          .toBe('taken');
        await expect
          .poll(() => calls.seen.some(({ data }) => data['round'] === round), { timeout: 20_000 })
          .toBe(true);
      }
    });

    it('never fail outside of a call, whenever connections are ended', async () => {
      const calls = new Calls();
      const queue = nextQueue();
      queues.work(queue, calls.handler);
      const outcomes = new Set<string>();
      for (let round = 0; round < 15; round++) {
        // Opened anew, so that connections are also ended while they are being set up.
        const opening = store
          .open()
          .then((opened) => opened.wake(queue, { round }).then(() => opened.close()));
        const kills = [
          store.killConnections(),
          queues.wake(queue, { round }),
          store.killConnections(),
          opening,
        ];
        for (const { status } of await Promise.allSettled(kills)) outcomes.add(status);
      }
      await expect
        .poll(() => queues.wake(queue, { end: true }).then(() => 'taken'), { timeout: 20_000 })
        .toBe('taken');
      await expect
        .poll(() => calls.seen.some(({ data }) => data['end'] === true), { timeout: 20_000 })
        .toBe(true);
      expect(outcomes).toContain('fulfilled');
    });
  });
}
