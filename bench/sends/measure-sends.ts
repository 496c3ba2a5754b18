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
  /** Between two looks for what is due, where nothing is notified. */
  readonly looksEveryMs?: number;
  /** The same of the least that carries a signal there, sent in between. */
  readonly bareP50Ms: number[];
  readonly bareP99Ms: number[];
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
/** How often a worker looks for what is due where it hears nothing. */
const UNHEARD_LOOK_MS = 1_000;

interface Contender extends SendsContender {
  readonly queues: Child<SendsCommands>;
  readonly sends: Child<SendsCommands>;
  queued: number;
}

/**
 * Measures how long a send waits that one process queues and another one makes: with notifications by Postgres, by
 * Redis where there is a `redis-server` or `TEST_REDIS_URL`, and without any.
 */
export async function measureSends(context: BenchContext): Promise<SendsResult> {
  const { args, postgres, progress } = context;
  const given = process.env['TEST_REDIS_URL'] || undefined;
  const redis = given !== undefined || REDIS_MISSING !== undefined ? undefined : await startTestRedis();
  const redisUrl = given ?? redis?.url;
  const contenders: Contender[] = [];
  const children: Child<SendsCommands>[] = [];

  const open = async (name: string, title: string, url?: string): Promise<void> => {
    const created = await postgres.createDatabase(`sends_${name}`);
    // As behind a pooler in transaction mode, where nothing can be heard.
    const databaseUrl = name === 'unheard' ? `${created}?prepare=false` : created;
    const start = async (sends: boolean): Promise<Child<SendsCommands>> => {
      const child = context.start<SendsCommands>(new URL('./sends-process.ts', import.meta.url));
      children.push(child);
      await child.ask('start', { databaseUrl, redisUrl: url, prefix: `bench-${process.pid}-${name}`, sends });
      return child;
    };
    const [queues, sends] = [await start(false), await start(true)];
    await queues.ask('addConnections', { count: CONNECTIONS });
    contenders.push({
      title,
      queues,
      sends,
      queued: 0,
      ...(name === 'unheard' ? { looksEveryMs: UNHEARD_LOOK_MS } : {}),
      bareP50Ms: [],
      bareP99Ms: [],
      p50Ms: [],
      p99Ms: [],
      longestMs: [],
    });
  };

  try {
    await open('postgres', 'Postgres');
    if (redisUrl !== undefined) await open('redis', 'Redis', redisUrl);
    await open('unheard', 'nothing');
    for (const contender of contenders) await measure(contender, 'warm-up', WARM_UP);
    for (let round = 0; round < args.rounds; round += 1) {
      for (const contender of contenders) {
        await postgres.checkpoint();
        const count = Math.ceil((args.seconds * 1_000) / EVERY_MS);
        const { sends, bare } = await measure(contender, `round-${round}`, count);
        contender.p50Ms.push(percentile(sends, 0.5));
        contender.p99Ms.push(percentile(sends, 0.99));
        contender.longestMs.push(sends.at(-1) ?? Number.NaN);
        contender.bareP50Ms.push(percentile(bare, 0.5));
        contender.bareP99Ms.push(percentile(bare, 0.99));
      }
      const longest = contenders.map(({ title, longestMs }) => `${title} ${longestMs.at(-1)?.toFixed(0)} ms`);
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

interface Waits {
  /** The shortest first. */
  readonly sends: readonly number[];
  readonly bare: readonly number[];
}

/** Queues `count` sends, and waits until each has begun and each bare signal has come. */
async function measure(contender: Contender, name: string, count: number): Promise<Waits> {
  const run = { name, count, everyMs: EVERY_MS, connections: CONNECTIONS };
  const asked = await contender.queues.ask('queue', run);
  contender.queued += count;
  const begun = { sends: {}, bare: {} };
  const until = systemClock.elapsed() + PATIENCE_MS;
  const isOver = (): boolean => Object.values(begun).every((times) => Object.keys(times).length >= count);
  while (!isOver() && systemClock.elapsed() < until) {
    await systemClock.sleep(100);
    const { sends, bare } = await contender.sends.ask('started', {} as never);
    Object.assign(begun.sends, sends);
    Object.assign(begun.bare, bare);
  }
  return { sends: waitsOf(asked.sends, begun.sends), bare: waitsOf(asked.bare, begun.bare) };
}

function waitsOf(askedAt: Times, begunAt: Times): readonly number[] {
  const waits = Object.entries(askedAt).map(([text, at]) => (begunAt[text] ?? Number.POSITIVE_INFINITY) - at);
  return waits.sort((a, b) => a - b);
}
