import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { REDIS_MISSING, startTestRedis } from '../../test/support/redis.ts';
import type { BenchContext } from '../context.ts';
import type { Child } from '../process/child.ts';
import { describeMismatches, type RowCheck } from '../report/row-check.ts';
import { percentile, ratioOf, spreadOf } from '../report/statistics.ts';
import { measureSizes } from '../report/table-sizes.ts';
import type { SendsCommands, Times } from './sends-process.ts';

/** From the request in one process to the attempt in another, in milliseconds, round by round. */
interface Contender {
  readonly title: string;
  readonly databaseUrl: string;
  readonly queues: Child<SendsCommands>;
  readonly sends: Child<SendsCommands>;
  readonly waits: Record<(typeof FIGURES)[number], number[]>;
  queued: number;
}

/** `bare` is the least that carries a signal there, sent in between. */
const FIGURES = ['bareP50Ms', 'bareP99Ms', 'p50Ms', 'p99Ms', 'longestMs'] as const;
const EVERY_MS = 20;
const CONNECTIONS = 50;
const WARM_UP = 20;
const PATIENCE_MS = 30_000;
const UNNOTIFIED = 'nothing';
/** How often a worker looks for what is due where nothing is notified, and the bound: it has just missed a look. */
const LOOK = { ms: 1_000, target: { below: 1.5 } };
/** A send is to start in another process within this. */
const BOUND = { ms: 100, target: { below: 1 } };
/** A send takes three commits and the signal takes none: the commit of the send, the lease and the attempt. */
const BELOW_BARE = { below: 50 };

/**
 * Measures how long a send waits that one process queues and another one makes: with notifications by Postgres, by
 * Redis where there is a `redis-server` or `TEST_REDIS_URL`, and without any.
 */
export async function measureSends(context: BenchContext) {
  const { args, postgres, progress } = context;
  const given = process.env['TEST_REDIS_URL'] || undefined;
  const redis = given !== undefined || REDIS_MISSING !== undefined ? undefined : await startTestRedis();
  const url = given ?? redis?.url;
  const contenders: Contender[] = [];
  const children: Child<SendsCommands>[] = [];

  const open = async (title: string, redisUrl?: string): Promise<void> => {
    const created = await postgres.createDatabase(`sends_${title.toLowerCase()}`);
    // As behind a pooler in transaction mode, where nothing can be heard.
    const databaseUrl = title === UNNOTIFIED ? `${created}?prepare=false` : created;
    const start = async (sends: boolean): Promise<Child<SendsCommands>> => {
      const child = context.start<SendsCommands>(new URL('./sends-process.ts', import.meta.url));
      children.push(child);
      await child.ask('start', {
        databaseUrl,
        redisUrl,
        prefix: `bench-${process.pid}-${title.toLowerCase()}`,
        sends,
      });
      return child;
    };
    const [queues, sends] = [await start(false), await start(true)];
    await queues.ask('addConnections', { count: CONNECTIONS });
    const waits = { bareP50Ms: [], bareP99Ms: [], p50Ms: [], p99Ms: [], longestMs: [] };
    contenders.push({ title, databaseUrl, queues, sends, waits, queued: 0 });
  };

  try {
    await open('Postgres');
    if (url !== undefined) await open('Redis', url);
    await open(UNNOTIFIED);
    for (const contender of contenders) await measure(contender, 'warm-up', WARM_UP);
    for (let round = 0; round < args.rounds; round += 1) {
      for (const contender of contenders) {
        await postgres.checkpoint();
        const count = Math.ceil((args.seconds * 1_000) / EVERY_MS);
        const { sends, bare } = await measure(contender, `round-${round}`, count);
        contender.waits.p50Ms.push(percentile(sends, 0.5));
        contender.waits.p99Ms.push(percentile(sends, 0.99));
        contender.waits.longestMs.push(sends.at(-1) ?? Number.NaN);
        contender.waits.bareP50Ms.push(percentile(bare, 0.5));
        contender.waits.bareP99Ms.push(percentile(bare, 0.99));
      }
      const longest = contenders.map(
        ({ title, waits }) => `${title} ${waits.longestMs.at(-1)?.toFixed(0)} ms`,
      );
      progress(`round ${round + 1} of ${args.rounds}: longest wait ${longest.join(', ')}`);
    }
    const rows: RowCheck[] = [];
    const bytesPerMessage: Record<string, number>[] = [];
    for (const { title, databaseUrl, sends, queued } of contenders) {
      bytesPerMessage.push(await measureSizes(databaseUrl));
      const found = await sends.ask('countSent', {} as never);
      rows.push({ what: `sends made at the first attempt, ${title}`, expected: queued, found });
    }
    const notMeasured = url === undefined ? { notMeasured: `Redis (${REDIS_MISSING})` } : {};
    return {
      report: {
        ratios: contenders.flatMap(compare),
        contenders: contenders.map(({ title, waits }, index) => ({
          title,
          ...spreadAll(waits),
          bytesPerMessage: bytesPerMessage[index],
        })),
        rows,
        ...notMeasured,
      },
      broken: describeMismatches(rows),
    };
  } finally {
    await Promise.all(children.map((child) => child.stop()));
    await redis?.stop();
  }
}

/** Queues `count` sends, and waits until each has begun and each bare signal has come. The shortest wait first. */
async function measure(contender: Contender, name: string, count: number) {
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

function compare({ title, waits }: Contender) {
  const { ms, target } = title === UNNOTIFIED ? LOOK : BOUND;
  const bounds = waits.p99Ms.map(() => ms);
  const what = `notified by ${title}`;
  const overBound = ratioOf(`${what}: p99 / ${ms} ms`, target, waits.p99Ms, bounds);
  if (title === UNNOTIFIED) return [overBound];
  return [overBound, ratioOf(`${what}: p50 / bare`, BELOW_BARE, waits.p50Ms, waits.bareP50Ms)];
}

function spreadAll(waits: Contender['waits']) {
  const spreads = FIGURES.map((name) => [name, spreadOf(waits[name])] as const);
  return Object.fromEntries(spreads) as Record<(typeof FIGURES)[number], ReturnType<typeof spreadOf>>;
}
