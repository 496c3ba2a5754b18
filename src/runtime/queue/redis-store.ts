import { Queue, Worker } from 'bullmq';
import type { Cluster, Redis } from 'ioredis';
import type { Clock } from '../clock/clock.ts';
import { within } from '../clock/deadline.ts';
import { QUEUE_OPTIONS, type QueueStore, WORKER_OPTIONS } from './queue-store.ts';
import { noAnswer } from './queues.ts';
import { connectRedis, readRedisNodes, requireNoEviction } from './redis-connection.ts';

const START_DEADLINE_MS = 10_000;

function untilReady(connection: Redis | Cluster): Promise<void> {
  return new Promise((resolve) => {
    if (connection.status === 'ready') resolve();
    else connection.once('ready', () => resolve());
  });
}

/**
 * Keeps jobs in Redis, or in a Redis Cluster when several nodes are given, separated by commas.
 * @throws {QueueUnavailable} when Redis does not answer within ten seconds.
 * @throws {ConfigurationError} when Redis may evict keys.
 */
export async function openRedisStore(options: {
  readonly redisUrl: string;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}): Promise<QueueStore> {
  const { clock, onError } = options;
  const redis = readRedisNodes(options.redisUrl);
  // Callers must not wait for a Redis that is down; workers have nothing else to do.
  const producer = connectRedis(redis, 'fail fast').on('error', onError);
  const consumer = connectRedis(redis, 'keep trying').on('error', onError);
  const close = (): Promise<void> => {
    producer.disconnect();
    consumer.disconnect();
    return Promise.resolve();
  };
  const prepare = async (): Promise<void> => {
    await untilReady(producer);
    await requireNoEviction(producer, redis);
  };
  try {
    const late = noAnswer(`Redis at ${redis.hosts} (REDIS_URL)`, START_DEADLINE_MS);
    await within(clock, START_DEADLINE_MS, prepare(), late);
  } catch (error) {
    await close();
    throw error;
  }

  return {
    backend: 'redis',
    isReachable: () => producer.status === 'ready',
    openQueue(name, onQueueError, group = name) {
      // All keys of a queue must lie in one slot of a cluster: what stands in braces chooses it.
      const queue = new Queue(name, { ...QUEUE_OPTIONS, connection: producer, prefix: `{${group}}` });
      return queue.on('error', onQueueError);
    },
    openWorker(name, processor, concurrency, onWorkerError) {
      const worker = new Worker(name, processor, {
        ...WORKER_OPTIONS,
        connection: consumer,
        prefix: `{${name}}`,
        concurrency,
      });
      return worker.on('error', onWorkerError);
    },
    close,
  };
}
