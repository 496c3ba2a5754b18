import type { Clock } from '../clock/clock.ts';
import type { Logger } from '../logger/logger.ts';
import { createBullmqQueues } from './bullmq-queues.ts';
import { openPostgresStore } from './postgres-store.ts';
import type { Queues } from './queues.ts';
import { openRedisStore } from './redis-store.ts';

export interface OpenQueuesOptions {
  /** Holds the queues, in a schema of their own, unless `redisUrl` is given. */
  readonly databaseUrl: string;
  /** One address, or those of several nodes of a Redis Cluster, separated by commas. */
  readonly redisUrl?: string;
  /** Goes before the name of every queue: deployments that share a store have different ones. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long running jobs may go on after `close` before their signal aborts. Default 5 s. */
  readonly graceMs?: number;
  /** How often schedules are compared with the store. Default 30 s. */
  readonly repairMs?: number;
}

const DEADLINE_MS = 5_000;
const GRACE_MS = 5_000;
const REPAIR_MS = 30_000;
const LOG_INTERVAL_MS = 5_000;

/** While a store is away, errors come by the hundred and say the same: one line in five seconds is enough. */
function createErrorLog(logger: Logger, clock: Clock): (error: unknown) => void {
  let lastAt = Number.NEGATIVE_INFINITY;
  let unlogged = 0;
  return (err) => {
    unlogged += 1;
    if (clock.elapsed() - lastAt < LOG_INTERVAL_MS) return;
    lastAt = clock.elapsed();
    logger.warn({ err, count: unlogged }, 'the store of the queues had an error');
    unlogged = 0;
  };
}

/**
 * Opens the queues: on Redis when `redisUrl` is given, on Postgres otherwise.
 * @throws {QueueUnavailable} when the store cannot be reached.
 * @throws {ConfigurationError} when `redisUrl` is wrong or that Redis may evict keys.
 */
export async function openQueues(options: OpenQueuesOptions): Promise<Queues> {
  const { clock, logger, redisUrl } = options;
  const onError = createErrorLog(logger, clock);
  const store =
    redisUrl === undefined
      ? await openPostgresStore(options.databaseUrl, onError)
      : await openRedisStore({ redisUrl, clock, onError });
  return createBullmqQueues({
    store,
    clock,
    logger,
    onError,
    prefix: options.prefix,
    deadlineMs: DEADLINE_MS,
    repairMs: options.repairMs ?? REPAIR_MS,
    graceMs: options.graceMs ?? GRACE_MS,
  });
}
