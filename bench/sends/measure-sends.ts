import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { REDIS_MISSING, startTestRedis } from '../../test/support/redis.ts';
import type { BenchContext } from '../context.ts';
import type { Child } from '../process/child.ts';
import { describeMismatches, type RowCheck } from '../report/row-check.ts';
import { percentile } from '../report/statistics.ts';
import type { SendsCommands, Times } from './sends-process.ts';

/** From the request in one process to the attempt in another, in milliseconds, round by round. */
export interface SendsContender {
  readonly title: string;
  readonly p50Ms: number[];
  readonly p99Ms: number[];
  readonly longestMs: number[];
}

export interface SendsResult {
  readonly contenders: readonly SendsContender[];
  readonly rows: readonly RowCheck[];
  readonly broken: readonly string[];
  /** Why there are no figures with Redis. */
  readonly notMeasured: string | undefined;
}

const EVERY_MS = 20;
const CONNECTIONS = 50;
const WARM_UP = 20;
const PATIENCE_MS = 30_000;

interface Contender extends SendsContender {
  readonly queues: Child<SendsCommands>;
  readonly sends: Child<SendsCommands>;
  queued: number;
}

/**
 * Measures how long a send waits that one process queues and another one makes: with notifications by Postgres, and by
 * Redis where there is a `redis-server` or `TEST_REDIS_URL`.
 */
export async function measureSends(context: BenchContext): Promise<SendsResult> {
  const { args, postgres, progress } = context;
  const given = process.env['TEST_REDIS_URL'] || undefined;
  const redis = given !== undefined || REDIS_MISSING !== undefined ? undefined : await startTestRedis();
  const redisUrl = given ?? redis?.url;
  const contenders: Contender[] = [];
  const children: Child<SendsCommands>[] = [];

  const open = async (name: string, title: string, url: string | undefined): Promise<void> => {
    const databaseUrl = await postgres.createDatabase(`sends_${name}`);
    const start = async (sends: boolean): Promise<Child<SendsCommands>> => {
      const child = context.start<SendsCommands>(new URL('./sends-process.ts', import.meta.url));
      children.push(child);
      await child.ask('start', { databaseUrl, redisUrl: url, prefix: `bench-${process.pid}-${name}`, sends });
      return child;
    };
    const [queues, sends] = [await start(false), await start(true)];
    await queues.ask('addConnections', { count: CONNECTIONS });
    contenders.push({ title, queues, sends, queued: 0, p50Ms: [], p99Ms: [], longestMs: [] });
  };

  try {
    await open('postgres', 'Postgres', undefined);
    if (redisUrl !== undefined) await open('redis', 'Redis', redisUrl);
    for (const contender of contenders) await measure(contender, 'warm-up', WARM_UP);
    for (let round = 0; round < args.rounds; round += 1) {
      for (const contender of contenders) {
        await postgres.checkpoint();
        const waits = await measure(
          contender,
          `round-${round}`,
          Math.ceil((args.seconds * 1_000) / EVERY_MS),
        );
        contender.p50Ms.push(percentile(waits, 0.5));
        contender.p99Ms.push(percentile(waits, 0.99));
        contender.longestMs.push(waits.at(-1) ?? Number.NaN);
      }
      const longest = contenders.map(({ title, longestMs }) => `${title} ${longestMs.at(-1)} ms`);
      progress(`round ${round + 1} of ${args.rounds}: longest wait ${longest.join(', ')}`);
    }
    const rows: RowCheck[] = [];
    for (const { title, sends, queued } of contenders) {
      const found = await sends.ask('countSent', {} as never);
      rows.push({ what: `sends made at the first attempt, ${title}`, expected: queued, found });
    }
    const notMeasured = redisUrl === undefined ? REDIS_MISSING : undefined;
    return { contenders, rows, broken: describeMismatches(rows), notMeasured };
  } finally {
    await Promise.all(children.map((child) => child.stop()));
    await redis?.stop();
  }
}

/** Queues `count` sends and waits until each has begun. Resolves with their waits, the shortest first. */
async function measure(contender: Contender, name: string, count: number): Promise<number[]> {
  const run = { name, count, everyMs: EVERY_MS, connections: CONNECTIONS };
  const queuedAt = await contender.queues.ask('queue', run);
  contender.queued += count;
  const startedAt: Record<string, number> = {};
  const until = systemClock.elapsed() + PATIENCE_MS;
  while (Object.keys(startedAt).length < count && systemClock.elapsed() < until) {
    await systemClock.sleep(100);
    Object.assign(startedAt, await contender.sends.ask('started', {} as never));
  }
  return waitsOf(queuedAt, startedAt).sort((a, b) => a - b);
}

function waitsOf(queuedAt: Times, startedAt: Times): number[] {
  return Object.entries(queuedAt).map(([text, at]) => (startedAt[text] ?? Number.POSITIVE_INFINITY) - at);
}
