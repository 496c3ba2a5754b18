import { inspect } from 'node:util';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import {
  type BullmqSinkOptions,
  openBullmqSink,
} from '../../../../src/connector/consumers/sinks/bullmq-sink.ts';
import type { CallEnd, Sink } from '../../../../src/connector/consumers/sinks/sink.ts';
import { findFreePort } from '../../../support/find-free-port.ts';
import { REDIS_MISSING, startTestRedis, type TestRedis } from '../../../support/redis.ts';
import { callWith, statusChange } from './sink-fixtures.ts';

const PLACE = { queue: 'crm', prefix: 'changes' };
const TAKEN: CallEnd = { kind: 'taken' };
const keyOf = (seq: number) => `3f9a1c22b04d-${seq}-crm`;
const range = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_each, index) => first + index);

describe.skipIf(REDIS_MISSING !== undefined)(
  `a queue of BullMQ${REDIS_MISSING === undefined ? '' : ` (skipped: ${REDIS_MISSING})`}`,
  () => {
    let servers: TestRedis[];
    let redis: TestRedis;

    async function start(settings: readonly string[] = [], port?: number): Promise<TestRedis> {
      const server = await startTestRedis(settings, port);
      servers.push(server);
      return server;
    }

    function open(options: Partial<BullmqSinkOptions> = {}): Sink {
      const sink = openBullmqSink({ redisUrl: redis.url, ...PLACE, attempts: 12, ...options });
      onTestFinished(() => sink.close());
      return sink;
    }

    /** A connection of the CRM. */
    function connect(): Redis {
      const connection = new Redis(redis.url, { maxRetriesPerRequest: null });
      connection.on('error', () => undefined);
      onTestFinished(() => connection.disconnect());
      return connection;
    }

    /** A worker of the CRM, and the numbers of the changes that it has run, in order. */
    function work(): number[] {
      const run: number[] = [];
      const worker = new Worker(PLACE.queue, async ({ data }) => void run.push(data.change.seq), {
        connection: connect(),
        prefix: PLACE.prefix,
      });
      worker.on('error', () => undefined);
      onTestFinished(() => worker.close(true));
      return run;
    }

    function openQueue(): Queue {
      const queue = new Queue(PLACE.queue, { connection: connect(), prefix: PLACE.prefix });
      queue.on('error', () => undefined);
      return queue;
    }

    const waiting = async () => (await openQueue().getJobs(['waiting'], 0, -1, true)).map(({ id }) => id);
    const unavailableWith = (message: string) => ({
      kind: 'unavailable',
      error: expect.objectContaining({
        name: 'QueueError',
        message: expect.stringContaining(`Redis at 127.0.0.1:${redis.port} did not take the job: ${message}`),
      }),
    });
    /** Calls until it succeeds: how long a connection takes is up to Redis. */
    const taken = (sink: Sink, seq: number) =>
      expect.poll(() => sink.call(callWith(seq)), { timeout: 10_000 }).toEqual(TAKEN);

    beforeEach(async () => {
      servers = [];
      redis = await start();
    });
    afterEach(async () => {
      await Promise.all(servers.map((server) => server.stop()));
    });

    it('receives a change as a job with its type as name and its key as id', async () => {
      expect(await open().call(callWith(7))).toEqual(TAKEN);
      const job = await openQueue().getJob(keyOf(7));
      expect(job).toMatchObject({
        name: 'message.status',
        id: '3f9a1c22b04d-7-crm',
        data: { key: '3f9a1c22b04d-7-crm', change: statusChange(7) },
        opts: { attempts: 12, backoff: { type: 'exponential', delay: 1_000 } },
      });
      expect(Object.keys(job?.data)).toEqual(['key', 'change']);
    });

    it('is read by a worker in the order of the changes, in batches and one by one', async () => {
      const run = work();
      const sink = open();
      for (const first of [1, 101])
        expect(await sink.call(callWith(...range(first, first + 99)))).toEqual(TAKEN);
      for (const seq of range(201, 220)) expect(await sink.call(callWith(seq))).toEqual(TAKEN);
      await expect.poll(() => run.length).toBe(220);
      expect(run).toEqual(range(1, 220));
    });

    it('keeps the settings that the CRM gave it', async () => {
      const queue = new Queue(PLACE.queue, {
        connection: connect(),
        prefix: PLACE.prefix,
        streams: { events: { maxLen: 77 } },
      });
      await queue.getVersion();
      expect(await open().call(callWith(1))).toEqual(TAKEN);
      expect(await connect().hget('changes:crm:meta', 'opts.maxLenEvents')).toBe('77');
    });

    it('ignores a change whose job it still has, finished or not, and takes it again after that', async () => {
      const sink = open();
      const queue = openQueue();
      for (let time = 0; time < 2; time += 1) expect(await sink.call(callWith(1, 2))).toEqual(TAKEN);
      expect(await waiting()).toEqual([keyOf(1), keyOf(2)]);
      const run = work();
      await expect.poll(() => queue.getCompletedCount()).toBe(2);
      expect(await sink.call(callWith(1, 2, 3))).toEqual(TAKEN);
      await expect.poll(() => queue.getCompletedCount()).toBe(3);
      expect(run).toEqual([1, 2, 3]);
      await queue.clean(0, 0, 'completed');
      expect(await sink.call(callWith(1))).toEqual(TAKEN);
      await expect.poll(() => run).toEqual([1, 2, 3, 1]);
    });

    it('that was flushed has lost what no worker had taken; adding it again brings it back', async () => {
      const sink = open();
      expect(await sink.call(callWith(1, 2, 3))).toEqual(TAKEN);
      await connect().flushall();
      expect(await sink.call(callWith(4))).toEqual(TAKEN);
      const run = work();
      await expect.poll(() => run).toEqual([4]);
      // As after a replay.
      for (const seq of range(1, 4)) expect(await sink.call(callWith(seq))).toEqual(TAKEN);
      await expect.poll(() => run).toEqual([4, 1, 2, 3]);
    });

    it('fails while Redis is away, and takes changes when it is back', async () => {
      const port = await findFreePort();
      const sink = open({ redisUrl: `redis://:cAnaRy@127.0.0.1:${port}` });
      expect(await sink.call(callWith(1))).toMatchObject({
        kind: 'unavailable',
        error: {
          message: `Redis at 127.0.0.1:${port} did not take the job: connect ECONNREFUSED 127.0.0.1:${port}`,
          code: 'ECONNREFUSED',
        },
      });
      redis = await start(['--requirepass', 'cAnaRy'], port);
      await taken(sink, 1);
    });

    it('takes changes again after Redis was killed, and has lost the ones before if Redis persists nothing', async () => {
      const sink = open();
      expect(await sink.call(callWith(1))).toEqual(TAKEN);
      redis.process.kill('SIGKILL');
      expect(await sink.call(callWith(2))).toMatchObject({
        kind: 'unavailable',
        error: { name: 'QueueError' },
      });
      redis = await start([], redis.port);
      await taken(sink, 2);
      expect(await waiting()).toEqual([keyOf(2)]);
    });

    it('fails on a replica, and looks for the primary over a new connection', async () => {
      const sink = open();
      expect(await sink.call(callWith(1))).toEqual(TAKEN);
      const other = await start();
      const admin = connect();
      const connections = async () =>
        Number(/total_connections_received:(\d+)/.exec(await admin.info('stats'))?.[1]);
      const before = await connections();
      await admin.replicaof('127.0.0.1', other.port);
      expect(await sink.call(callWith(2))).toEqual(unavailableWith('READONLY'));
      await expect.poll(connections).toBe(before + 1);
      await admin.replicaof('NO', 'ONE');
      await taken(sink, 2);
    });

    it('fails on a Redis that is full, and then takes the changes in order', async () => {
      const sink = open();
      const admin = connect();
      await sink.call(callWith(1));
      await admin.config('SET', 'maxmemory', '1mb');
      expect(await sink.call(callWith(2, 3, 4))).toEqual(unavailableWith('OOM'));
      await admin.config('SET', 'maxmemory', '0');
      expect(await sink.call(callWith(2, 3, 4))).toEqual(TAKEN);
      expect(await waiting()).toEqual([1, 2, 3, 4].map(keyOf));
    });

    it.each([
      ['without a password', '', 'NOAUTH'],
      ['with a wrong password', ':cAnaRy@', 'WRONGPASS'],
    ])('fails %s', async (_what, credentials, word) => {
      redis = await start(['--requirepass', 'right']);
      const sink = open({ redisUrl: redis.url.replace('//', `//${credentials}`) });
      expect(await sink.call(callWith(1))).toEqual(unavailableWith(word));
      expect(inspect(await sink.call(callWith(1)))).not.toContain('cAnaRy');
    });

    it('fails for a user who may not add jobs', async () => {
      const admin = connect();
      await admin.acl('SETUSER', 'reader', 'on', '>secret', '~*', '+@read', '+@connection', '+info');
      const sink = open({ redisUrl: redis.url.replace('//', '//reader:secret@') });
      expect(await sink.call(callWith(1))).toEqual(unavailableWith('NOPERM'));
      await admin.acl('SETUSER', 'reader', '+@all');
      expect(await sink.call(callWith(1))).toEqual(TAKEN);
    });

    it('that does not answer fails after five seconds, and holds up no stop', async () => {
      const sink = open();
      expect(await sink.call(callWith(1))).toEqual(TAKEN);
      redis.process.kill('SIGSTOP');
      expect(await sink.call(callWith(2))).toEqual(unavailableWith('Command timed out'));
      const pending = sink.call(callWith(2));
      await sink.close();
      expect(await pending).toEqual(unavailableWith(''));
    }, 15_000);
  },
);
