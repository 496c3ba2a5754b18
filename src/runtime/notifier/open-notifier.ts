import type { Clock } from '../clock/clock.ts';
import type { Queryable } from '../database/database.ts';
import type { Logger } from '../logger/logger.ts';
import type { Notifier } from './notifier.ts';
import { createPostgresNotifier } from './postgres-notifier.ts';
import { openRedisNotifier } from './redis-notifier.ts';

export interface OpenNotifierOptions {
  readonly database: Queryable;
  /** The database that `database` is. */
  readonly databaseUrl: string;
  /** One address, or those of several nodes of a Redis Cluster, separated by commas. Absent: Postgres notifies. */
  readonly redisUrl?: string | undefined;
  /** Names the deployment, in a-z, 0-9 and -, where several share a Redis. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

const LOG_INTERVAL_MS = 5_000;

/**
 * Opens what carries notifications: Redis when `redisUrl` is given, Postgres otherwise.
 * @throws {NotifierUnavailable} when Redis cannot be reached.
 * @throws {ConfigurationError} when `redisUrl` is wrong, or when that Redis may evict keys.
 */
export async function openNotifier(options: OpenNotifierOptions): Promise<Notifier> {
  const { redisUrl, clock, logger } = options;
  const onError = createErrorLog(logger, clock);
  if (redisUrl === undefined) return createPostgresNotifier({ ...options, onError });
  return await openRedisNotifier({ ...options, redisUrl, onError });
}

/** During an outage errors come by the hundred and say the same: one line in five seconds is enough. */
function createErrorLog(logger: Logger, clock: Clock): (error: unknown) => void {
  let lastAt = Number.NEGATIVE_INFINITY;
  let unlogged = 0;
  return (err) => {
    unlogged += 1;
    if (clock.elapsed() - lastAt < LOG_INTERVAL_MS) return;
    lastAt = clock.elapsed();
    logger.warn({ err, count: unlogged }, 'notifications failed; what is due is found without them');
    unlogged = 0;
  };
}
