import { once } from 'node:events';
import { Queue } from 'bullmq';
import type { KeyedChange } from '../../../contract/connector/consumer-requests.ts';
import { describeError } from '../../../runtime/logger/describe-error.ts';
import { connectRedis, readRedisNodes } from '../../../runtime/notifier/redis-connection.ts';
import type { Sink, SinkCall } from './sink.ts';

/** The wait of BullMQ before a job is run again; it doubles each time. */
const RETRY = { type: 'exponential', delay: 1_000 } as const;

/** Why a queue did not take a change. Its message never contains the credentials of Redis. */
export class QueueError extends Error {
  override readonly name = 'QueueError';
  readonly code: string | number | undefined;

  constructor(hosts: string, cause: unknown) {
    const { message, code } = describeError(cause);
    super(`Redis at ${hosts} did not take the job: ${message || code || 'no reason known'}`, { cause });
    this.code = code;
  }
}

export interface BullmqSinkOptions {
  /** One address, or those of a cluster, as in `REDIS_URL`. */
  readonly redisUrl: string;
  /** Without `:`, which BullMQ does not allow. */
  readonly queue: string;
  /** What the names of BullMQ's keys begin with. */
  readonly prefix: string;
  /** How often BullMQ runs a job whose worker throws. */
  readonly attempts: number;
}

/**
 * Adds changes as jobs to a queue of the CRM: named as the type of the change, with the key as id. BullMQ ignores a
 * job whose id it still has. How long it keeps finished jobs is up to the CRM's workers. A failure is a
 * `QueueError`, and concerns the whole queue and not the change.
 * @throws {ConfigurationError} if `redisUrl` is invalid.
 */
export function openBullmqSink(options: BullmqSinkOptions): Sink {
  const redis = readRedisNodes(options.redisUrl);
  // Every call reports what it meets. While Redis is away, a call must not wait for it.
  const connection = connectRedis(redis, 'fail fast').on('error', () => undefined);
  let connecting: Promise<unknown> | undefined;
  let opening: Promise<Queue<KeyedChange>> | undefined;

  /** Resolves when Redis can be used; rejects with the next error of the connection. */
  async function untilReady(): Promise<void> {
    if (connection.status === 'ready') return;
    connecting ??= once(connection, 'ready').finally(() => {
      connecting = undefined;
    });
    await connecting;
  }

  async function openQueue(): Promise<Queue<KeyedChange>> {
    const { queue: name, prefix } = options;
    // Its settings in Redis, such as the length of the stream of events, are those of the CRM.
    const queue = new Queue<KeyedChange>(name, { connection, prefix, skipMetasUpdate: true });
    queue.on('error', () => undefined);
    try {
      await queue.waitUntilReady();
      return queue;
    } catch (error) {
      opening = undefined;
      throw error;
    }
  }

  /** One after the other: `addBulk` goes on after a job that failed, and the next one would overtake it. */
  async function add({ changes, stop }: SinkCall): Promise<void> {
    await untilReady();
    opening ??= openQueue();
    const queue = await opening;
    for (const { change, key } of changes) {
      stop.throwIfAborted();
      await queue.add(
        change.type,
        { key, change },
        { jobId: key, attempts: options.attempts, backoff: RETRY },
      );
    }
  }

  return {
    // It is the queue that is slow, and not the change.
    whenLate: 'unavailable',
    async call(call) {
      try {
        await add(call);
        return { kind: 'taken' };
      } catch (error) {
        return { kind: 'unavailable', error: new QueueError(redis.hosts, error) };
      }
    },
    async close() {
      connection.disconnect();
    },
  };
}
