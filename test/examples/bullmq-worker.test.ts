import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openBullmqSink } from '../../src/connector/consumers/sinks/bullmq-sink.ts';
import type { Sink } from '../../src/connector/consumers/sinks/sink.ts';
import { callOf, createdChange, statusChange } from '../connector/consumers/sinks/sink-fixtures.ts';
import { makeFolder } from '../support/make-folder.ts';
import { REDIS_MISSING, startTestRedis, type TestRedis } from '../support/redis.ts';
import { ROOT } from '../support/root.ts';
import { type SpawnedCommand, spawnCommand } from '../support/spawn-command.ts';

describe.skipIf(REDIS_MISSING !== undefined)(
  `worker.ts${REDIS_MISSING === undefined ? '' : ` (skipped: ${REDIS_MISSING})`}`,
  () => {
    let folder: string;
    let redis: TestRedis;
    let workers: SpawnedCommand[];
    let sink: Sink;
    let queue: Queue;

    async function start(): Promise<SpawnedCommand> {
      const env = { REDIS_URL: redis.url, WORKER_DATABASE: join(folder, 'crm.sqlite') };
      const worker = spawnCommand('node', [join(ROOT, 'examples/bullmq-worker/worker.ts')], {
        cwd: folder,
        env,
      });
      workers.push(worker);
      await worker.said(/^working$/);
      return worker;
    }

    function stored(): unknown {
      const database = new DatabaseSync(join(folder, 'crm.sqlite'));
      try {
        return database.prepare('SELECT id, text, status FROM messages ORDER BY id').all();
      } finally {
        database.close();
      }
    }

    beforeEach(async () => {
      folder = makeFolder();
      redis = await startTestRedis();
      workers = [];
      sink = openBullmqSink({
        redisUrl: redis.url,
        queue: 'crm',
        prefix: 'bull',
        attempts: 12,
      });
      const connection = new Redis(redis.url, { maxRetriesPerRequest: null });
      queue = new Queue('crm', { connection });
      onTestFinished(() => connection.disconnect());
    });
    afterEach(async () => {
      await sink.close();
      await Promise.all(workers.map((worker) => worker.kill()));
      await redis.stop();
    });

    it('stores each message once, although its job runs again, and lowers no status', async () => {
      const changes = [
        createdChange(1, 'm1', 'größer 😀'),
        statusChange(2, 'delivered', 'm1'),
        createdChange(3, 'm2', 'second'),
        statusChange(4, 'read', 'm1'),
      ];
      await start();
      for (const again of [1, 2]) {
        for (const change of changes) expect(await sink.call(callOf(change))).toEqual({ kind: 'taken' });
        await expect.poll(() => queue.getCompletedCount(), { timeout: 10_000 }).toBe(4);
        if (again === 1) await queue.clean(0, 0, 'completed');
      }
      expect(stored()).toEqual([
        { id: 'm1', text: 'größer 😀', status: 'read' },
        { id: 'm2', text: 'second', status: 'sent' },
      ]);
    });

    it('keeps a status whose message it stores later', async () => {
      await start();
      for (const change of [statusChange(2, 'read', 'm1'), createdChange(1, 'm1', 'Hello')])
        expect(await sink.call(callOf(change))).toEqual({ kind: 'taken' });
      await expect.poll(() => queue.getCompletedCount(), { timeout: 10_000 }).toBe(2);
      expect(stored()).toEqual([{ id: 'm1', text: 'Hello', status: 'read' }]);
    });

    it('loses nothing when it is killed, and stops on SIGTERM', async () => {
      const seqs = Array.from({ length: 200 }, (_each, index) => index + 1);
      const killed = await start();
      const added = sink.call(callOf(...seqs.map((seq) => createdChange(seq, `m${seq}`, 'Hello'))));
      await expect.poll(() => queue.getCompletedCount(), { interval: 1 }).toBeGreaterThan(0);
      await killed.kill();
      expect(await added).toEqual({ kind: 'taken' });
      const worker = await start();
      // The job that ran when it was killed is taken again when its lock has expired.
      await expect.poll(() => queue.getCompletedCount(), { timeout: 30_000, interval: 100 }).toBe(200);
      expect(stored()).toHaveLength(200);
      worker.signal('SIGTERM');
      expect(await worker.ended).toMatchObject({ code: 0, stderr: expect.not.stringContaining('Error') });
    });
  },
);
