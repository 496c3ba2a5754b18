import { type Job as BullJob, Queue, WaitingError, Worker } from 'bullmq';
import type { Cluster, Redis } from 'ioredis';
import type { Clock } from '../clock/clock.ts';
import { DeadlinePassed, within } from '../clock/deadline.ts';
import { ConfigurationError } from '../config/configuration-error.ts';
import { LocalDelivery } from './local-delivery.ts';
import { isRedisRefusal, type Notifier, NotifierUnavailable } from './notifier.ts';
import { connectRedis, type RedisNodes, readRedisNodes, requireNoEviction } from './redis-connection.ts';

export interface RedisNotifierOptions {
  readonly redisUrl: string;
  /** The prefix of every queue name; deployments that share a Redis use different ones. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

const START_DEADLINE_MS = 10_000;
const CLOSE_DEADLINE_MS = 2_000;
const REST_MS = 1_000;
/** How many keys a process may hold before it has started to work on them; other processes get the rest. */
const HELD_AT_A_TIME = 4;
const QUEUE_NAME = /^[a-z0-9-]{1,80}$/;

/** A finished job is removed: the work is in the database. */
const FORGET = { removeOnComplete: true, removeOnFail: true } as const;
/** A job whose process stops responding goes to another one within about ten seconds. */
const WORKER = {
  concurrency: HELD_AT_A_TIME,
  lockDuration: 5_000,
  stalledInterval: 2_500,
  maxStalledCount: 3,
  runRetryDelay: 1_000,
  drainDelay: 5,
} as const;

interface Job {
  readonly key: string;
}

/**
 * Carries notifications as jobs of BullMQ. Each key goes to one process that has capacity for it. A delayed key waits in
 * Redis, so it is delivered on time even if the process that sent it is gone. While Redis is unavailable, also at the
 * start, a process notifies only its own subscribers.
 * @throws {ConfigurationError} if `redisUrl` is invalid, or if that Redis refuses its credentials or may evict keys.
 */
export async function openRedisNotifier(options: RedisNotifierOptions): Promise<Notifier> {
  const { prefix, clock, onError } = options;
  const redis = readRedisNodes(options.redisUrl);
  // Callers must not wait for a Redis that is down; workers may.
  const producer = connectRedis(redis, 'fail fast').on('error', onError);
  const consumer = connectRedis(redis, 'keep trying').on('error', onError);
  const local = new LocalDelivery(clock);
  const queues = new Map<string, Queue<Job>>();
  /** What is told to all processes. */
  const channel = `${prefix}-told`;
  let hearing: Redis | Cluster | undefined;
  const heard = new Map<string, (key: string) => void>();
  const workers: Worker<Job>[] = [];
  let closing: Promise<void> | undefined;

  async function answer<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
    try {
      return await within(clock, ms, work);
    } catch (cause) {
      if (cause instanceof ConfigurationError) throw cause;
      const problem = cause instanceof DeadlinePassed ? `no response within ${ms} ms` : 'the command failed';
      throw new NotifierUnavailable(`${what}: ${problem}`, { cause });
    }
  }

  /** All keys of a queue must be in one slot of a cluster; the part in braces determines the slot. */
  function place(topic: string): { readonly name: string; readonly prefix: string } {
    const name = `${prefix}-${topic}`;
    if (!QUEUE_NAME.test(name))
      throw new TypeError(`A topic may contain only a-z, 0-9 and -, so '${topic}' is invalid.`);
    return { name, prefix: `{${name}}` };
  }

  function queueOf(topic: string): Queue<Job> {
    const known = queues.get(topic);
    if (known !== undefined) return known;
    const { name, prefix: keys } = place(topic);
    const queue = new Queue<Job>(name, {
      connection: producer,
      prefix: keys,
      streams: { events: { maxLen: 100 } },
    });
    queue.on('error', onError);
    queues.set(topic, queue);
    return queue;
  }

  async function add(topic: string, key: string, delayMs: number): Promise<void> {
    if (producer.status !== 'ready') throw new NotifierUnavailable('Redis is not connected');
    const deduplication = { id: escapeColons(key), keepLastIfActive: true, reschedule: true };
    await queueOf(topic).add('notify', { key }, { ...FORGET, delay: Math.round(delayMs), deduplication });
  }

  function deliver(topic: string, key: string, delayMs: number): void {
    if (delayMs <= 0) void local.deliver(topic, key);
    else local.after(delayMs, topic, key, () => void local.deliver(topic, key));
  }

  function hearAll(): Redis | Cluster {
    const connection = connectRedis(redis, 'keep trying').on('error', onError);
    connection.on('message', (_channel: string, told: string) => {
      const at = told.indexOf(' ');
      heard.get(told.slice(0, at))?.(told.slice(at + 1));
    });
    connection.subscribe(channel).catch(onError);
    return connection;
  }

  /** A Redis that is full, or refuses for another reason, answers at once: without a rest, workers ask in a loop. */
  function restAfterErrors(worker: Worker<Job>): void {
    let resting = false;
    worker.on('error', () => {
      if (resting || closing !== undefined) return;
      resting = true;
      worker.pause(true).catch(onError);
      clock.after(REST_MS, () => {
        resting = false;
        if (closing === undefined) worker.resume().catch(onError);
      });
    });
  }

  async function closeAll(): Promise<void> {
    local.close();
    const parts = [...workers, ...queues.values()].map((part) => part.close());
    await answer(CLOSE_DEADLINE_MS, 'closing the queues', Promise.all(parts)).catch(onError);
    producer.disconnect();
    consumer.disconnect();
    hearing?.disconnect();
  }

  const prepare = async (): Promise<void> => {
    await Promise.race([Promise.all([untilReady(producer), untilReady(consumer)]), refusal(producer, redis)]);
    await requireNoEviction(producer, redis);
  };
  const prepared = prepare();
  try {
    await answer(START_DEADLINE_MS, `Redis at ${redis.hosts} (REDIS_URL)`, prepared);
  } catch (error) {
    if (error instanceof ConfigurationError) {
      await closeAll();
      throw error;
    }
    onError(error);
    // It is used once it answers. What is wrong with it then can only be logged.
    prepared.catch(onError);
  }

  return {
    receives: true,
    notify(topic, key, delayMs = 0) {
      if (closing !== undefined) return;
      add(topic, key, Math.max(0, delayMs)).catch((error: unknown) => {
        onError(error);
        if (closing === undefined) deliver(topic, key, delayMs);
      });
    },
    subscribe(topic, onNotified) {
      if (closing !== undefined) return () => undefined;
      const unsubscribe = local.subscribe(topic, onNotified);
      const { name, prefix: keys } = place(topic);
      const begin = async (job: BullJob<Job>, token?: string): Promise<void> => {
        if (local.has(topic)) return await local.deliver(topic, job.data.key);
        // The subscription ended while this job was taken: leave it to another process.
        await job.moveToWait(token);
        throw new WaitingError();
      };
      const worker = new Worker<Job>(name, begin, { ...WORKER, connection: consumer, prefix: keys });
      workers.push(worker.on('error', onError));
      restAfterErrors(worker);
      return () => {
        unsubscribe();
        worker.close().catch(onError);
      };
    },
    tell(topic, key) {
      if (closing === undefined) producer.publish(channel, `${topic} ${key}`).catch(onError);
    },
    hear(topic, onTold) {
      if (closing === undefined) hearing ??= hearAll();
      heard.set(topic, onTold);
      return () => heard.delete(topic);
    },
    close() {
      closing ??= closeAll();
      return closing;
    },
  };
}

/** BullMQ separates its keys by colons, so a name must not contain one. */
function escapeColons(text: string): string {
  return text.replaceAll('%', '%25').replaceAll(':', '%3A');
}

/** Rejects if Redis refuses the credentials. */
function refusal(connection: Redis | Cluster, { hosts }: RedisNodes): Promise<never> {
  return new Promise((_resolve, reject) => {
    connection.on('error', ({ message }: Error) => {
      if (!isRedisRefusal(message)) return;
      const problem = `Redis at ${hosts} refuses the user name or the password. Correct them.`;
      reject(new ConfigurationError([{ setting: 'REDIS_URL', problem }]));
    });
  });
}

function untilReady(connection: Redis | Cluster): Promise<void> {
  return new Promise((resolve) => {
    if (connection.status === 'ready') resolve();
    else connection.once('ready', () => resolve());
  });
}
