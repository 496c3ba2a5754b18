import { Cluster } from 'ioredis';
import type { Clock } from '../clock/clock.ts';
import { within } from '../clock/deadline.ts';
import { connectRedis, readRedisNodes } from './redis-connection.ts';

const DEADLINE_MS = 5_000;

/** The state that a Redis server reports. */
export interface RedisState {
  readonly hosts: string;
  readonly version: string;
  readonly isReplica: boolean;
  readonly policy: string;
  readonly usedBytes: number;
  /** 0: no limit. */
  readonly maxBytes: number;
}

export type InspectedRedis =
  | { readonly kind: 'answered'; readonly servers: readonly RedisState[] }
  /** `error` is the first error of the connection, or the deadline. */
  | { readonly kind: 'unreachable'; readonly hosts: string; readonly error: unknown };

/** Reads version, policy and memory of every master of a Redis. Throws a `ConfigurationError` for an invalid address. */
export async function inspectRedis(redisUrl: string, clock: Clock): Promise<InspectedRedis> {
  const redis = readRedisNodes(redisUrl);
  const connection = connectRedis(redis, 'fail fast');
  let met: unknown;
  const failed = new Promise<never>((_resolve, reject) => {
    connection.on('error', (error: unknown) => {
      met ??= error;
      reject(error);
    });
  });
  const ready = new Promise<void>((resolve) => connection.once('ready', () => resolve()));
  const ask = async (): Promise<RedisState[]> => {
    await Promise.race([ready, failed]);
    const servers = connection instanceof Cluster ? connection.nodes('master') : [connection];
    return await Promise.all(servers.map(async (server) => readState(await server.info(), redis.hosts)));
  };
  try {
    const servers = await within(clock, DEADLINE_MS, ask());
    return { kind: 'answered', servers };
  } catch (error) {
    const late = Object.assign(new Error('no answer in time', { cause: error }), { code: 'deadline' });
    return { kind: 'unreachable', hosts: redis.hosts, error: met ?? (isReply(error) ? error : late) };
  } finally {
    connection.disconnect();
  }
}

function isReply(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}

function readState(info: string, hosts: string): RedisState {
  const field = (name: string): string => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1] ?? '';
  return {
    hosts,
    version: field('redis_version'),
    isReplica: field('role') === 'slave',
    policy: field('maxmemory_policy'),
    usedBytes: Number(field('used_memory')),
    maxBytes: Number(field('maxmemory')),
  };
}
