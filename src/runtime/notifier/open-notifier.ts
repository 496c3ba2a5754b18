import type { Clock } from '../clock/clock.ts';
import type { Queryable } from '../database/database.ts';
import type { Logger } from '../logger/logger.ts';
import type { Notifier } from './notifier.ts';
import { createPostgresNotifier } from './postgres-notifier.ts';

export interface OpenNotifierOptions {
  readonly database: Queryable;
  readonly databaseUrl: string;
  /** One address, or several nodes of a Redis Cluster, separated by commas. If absent, Postgres carries notifications. */
  readonly redisUrl?: string | undefined;
  /** Distinguishes deployments that share a Redis: a-z, 0-9 and -. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

const LOG_INTERVAL_MS = 5_000;

/**
 * Opens the carrier of notifications: Redis if `redisUrl` is given, otherwise Postgres.
 * @throws {ConfigurationError} if `redisUrl` is invalid, or if that Redis refuses its credentials or may evict keys.
 */
export async function openNotifier(options: OpenNotifierOptions): Promise<Notifier> {
  const { redisUrl, clock, logger } = options;
  const onError = createErrorLog(logger, clock);
  if (redisUrl === undefined) return createPostgresNotifier({ ...options, onError });
  // Loaded only here: its libraries have as many files as the connector, which needs no Redis.
  const { openRedisNotifier } = await import('./redis-notifier.ts');
  return await openRedisNotifier({ ...options, redisUrl, onError });
}

/** An outage causes hundreds of equal errors: one line in five seconds is enough. */
function createErrorLog(logger: Logger, clock: Clock): (error: unknown) => void {
  let lastAt = Number.NEGATIVE_INFINITY;
  let unlogged = 0;
  return (err) => {
    unlogged += 1;
    if (clock.elapsed() - lastAt < LOG_INTERVAL_MS) return;
    lastAt = clock.elapsed();
    logger.warn(
      { err, count: unlogged },
      'notifications failed; due work is found by polling the database instead',
    );
    unlogged = 0;
  };
}
