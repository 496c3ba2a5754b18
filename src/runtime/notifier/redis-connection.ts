import { Cluster, Redis } from 'ioredis';
import { backOffMs } from '../clock/back-off.ts';
import { ConfigurationError } from '../config/configuration-error.ts';
import { MALFORMED } from '../database/database-url.ts';

/** Addresses and credentials of Redis. Several nodes form a Redis Cluster. */
export interface RedisNodes {
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  /** The addresses without credentials, for messages. */
  readonly hosts: string;
  readonly db: number;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly tls: boolean;
}

/** What a command does while Redis is unavailable. */
type Patience = 'fail fast' | 'keep trying';

const COMMAND_TIMEOUT_MS = 5_000;
const RETRY = { firstMs: 100, longestMs: 5_000, spread: 0.2 };

/**
 * Parses `redis://` and `rediss://` addresses, separated by commas. User, password and TLS are those of the first one.
 * @throws {ConfigurationError} for any other text.
 */
export function readRedisNodes(redisUrl: string): RedisNodes {
  const urls = redisUrl.split(',').flatMap((text) => {
    const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined;
    return url !== undefined && /^rediss?:$/.test(url.protocol) && url.hostname !== '' ? [url] : [];
  });
  const [first] = urls;
  if (first === undefined || urls.length !== redisUrl.split(',').length || MALFORMED.test(redisUrl)) {
    const problem =
      'found an address that does not start with redis:// or rediss://, or a % in it that is not percent-encoded (not shown). Correct it.';
    throw new ConfigurationError([{ setting: 'REDIS_URL', problem }]);
  }
  const nodes = urls.map((url) => ({
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? 6_379 : Number(url.port),
  }));
  return {
    nodes,
    hosts: nodes.map(({ host, port }) => `${host}:${port}`).join(', '),
    db: Number(first.pathname.slice(1)) || 0,
    username: decodeURIComponent(first.username) || undefined,
    password: decodeURIComponent(first.password) || undefined,
    tls: first.protocol === 'rediss:',
  };
}

/** The wait before the next attempt to connect. */
function retryDelay(times: number): number {
  return backOffMs(times, RETRY, Math.random());
}

/** Opens a connection, or the connections of a cluster, that reconnects by itself. */
export function connectRedis(redis: RedisNodes, patience: Patience): Redis | Cluster {
  const failFast = patience === 'fail fast';
  const options = {
    ...(redis.username === undefined ? {} : { username: redis.username }),
    ...(redis.password === undefined ? {} : { password: redis.password }),
    connectTimeout: COMMAND_TIMEOUT_MS,
    keepAlive: 10_000,
    // A primary that became a replica: its name may lead to the new one.
    reconnectOnError: ({ message }: Error) => message.startsWith('READONLY'),
    // Workers of BullMQ use blocking commands, which must be allowed to wait.
    maxRetriesPerRequest: failFast ? 1 : null,
    ...(failFast ? { commandTimeout: COMMAND_TIMEOUT_MS } : {}),
    ...(redis.tls ? { tls: {} } : {}),
  };
  const [first] = redis.nodes;
  if (redis.nodes.length > 1 || first === undefined) {
    return new Cluster([...redis.nodes], {
      redisOptions: options,
      enableOfflineQueue: !failFast,
      clusterRetryStrategy: retryDelay,
    });
  }
  return new Redis({
    ...options,
    ...first,
    db: redis.db,
    enableOfflineQueue: !failFast,
    retryStrategy: retryDelay,
  });
}

/**
 * Rejects a Redis that evicts keys when its memory is full: BullMQ fails if a key is evicted. So it does without the right
 * to `INFO`.
 * @throws {ConfigurationError} that states how to set the policy, or the right.
 */
export async function requireNoEviction(connection: Redis | Cluster, redis: RedisNodes): Promise<void> {
  const servers = connection instanceof Cluster ? connection.nodes('master') : [connection];
  for (const server of servers) {
    const info = await server.info('memory').catch((error: Error) => {
      if (!error.message.startsWith('NOPERM')) throw error;
      const user = redis.username ?? 'default';
      const problem = `found a Redis (${redis.hosts}) whose user may not run INFO. Allow it with: redis-cli ACL SETUSER ${user} +info`;
      throw new ConfigurationError([{ setting: 'REDIS_URL', problem }]);
    });
    const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? 'unknown';
    if (policy === 'noeviction') continue;
    throw new ConfigurationError([
      {
        setting: 'REDIS_URL',
        problem:
          `found a Redis (${redis.hosts}) whose maxmemory-policy is ${policy}, so it may evict queued jobs. ` +
          'Set it with: redis-cli CONFIG SET maxmemory-policy noeviction, and permanently in redis.conf ' +
          'or in the parameters of your provider. Or remove REDIS_URL to use Postgres instead.',
      },
    ]);
  }
}
