import type { BenchContext } from '../context.ts';
import type { Child } from '../process/child.ts';
import { describeMismatches, type RowCheck } from '../report/row-check.ts';
import { type Contender, type ContenderName, startContender } from './contenders.ts';
import { type AcknowledgedRun, countRows } from './count-rows.ts';
import type { LoadCommands, LoadResult } from './generate-load.ts';
import { installPeers } from './install-peers.ts';

/** All that was measured of one contender. */
export interface ContenderResult {
  readonly name: ContenderName;
  readonly title: string;
  /** One entry for each round, warm-up not counted. */
  readonly rounds: readonly LoadResult[];
  /** Events acknowledged, warm-up counted. */
  readonly acknowledged: number;
  readonly rows: readonly RowCheck[];
  /** What went wrong; empty when nothing did. */
  readonly broken: readonly string[];
}

export interface IngestResult {
  readonly contenders: readonly ContenderResult[];
  /** Contenders left out, with the reason. */
  readonly notMeasured: Readonly<Partial<Record<ContenderName, string>>>;
}

interface Running {
  readonly contender: Contender;
  readonly loads: LoadResult[];
  readonly rounds: LoadResult[];
  readonly runs: AcknowledgedRun[];
}

const ORDER: readonly ContenderName[] = ['connector', 'verify', 'insert', 'stripe'];
/** Requests built for a warm-up, when the rate is not known yet: more than two cores can take. */
const WARM_UP_EVENTS_PER_SECOND = 25_000;
/** A stretch may be this much faster than its warm-up before it runs out of requests. */
const HEADROOM = 1.6;

/** Measures every receiver in turn, round by round, and then counts what each of them stored. */
export async function measureIngest(context: BenchContext): Promise<IngestResult> {
  const { args, postgres, progress } = context;
  const notMeasured: Partial<Record<ContenderName, string>> = {};
  const generator = context.start<LoadCommands>(new URL('./generate-load.ts', import.meta.url));
  const running: Running[] = [];
  try {
    for (const name of ORDER) {
      const reason = await whyNot(name, context);
      if (reason !== undefined) {
        notMeasured[name] = reason;
        continue;
      }
      progress(`starting ${name}`);
      running.push({ contender: await startContender(name, context), loads: [], rounds: [], runs: [] });
    }
    for (let round = 0; round < args.rounds; round++) {
      for (const one of running) {
        await postgres.checkpoint();
        const measured = await runRound(one, generator, round, args.seconds);
        progress(describeRound(one.contender.name, round, args.rounds, measured));
      }
    }
    const contenders: ContenderResult[] = [];
    for (const one of running) contenders.push(await conclude(one));
    return { contenders, notMeasured };
  } finally {
    await Promise.all([generator.stop(), ...running.map(({ contender }) => contender.server.stop())]);
  }
}

async function whyNot(name: ContenderName, { args, progress }: BenchContext): Promise<string | undefined> {
  if (args.without.includes(name)) return 'left out on request';
  return name === 'stripe' ? installPeers(progress) : undefined;
}

async function runRound(
  one: Running,
  generator: Child<LoadCommands>,
  round: number,
  seconds: number,
): Promise<LoadResult> {
  const warmUpSeconds = round === 0 ? Math.max(1, seconds / 2) : Math.max(0.3, seconds / 5);
  // A run of less than a second only tries the benchmark out.
  const warmUp = await offer(one, generator, Math.min(seconds, warmUpSeconds), WARM_UP_EVENTS_PER_SECOND);
  const measured = await offer(one, generator, seconds, Math.max(1000, warmUp.eventsPerSecond));
  one.rounds.push(measured);
  await one.contender.server.ask('settle', {});
  return measured;
}

async function offer(
  one: Running,
  generator: Child<LoadCommands>,
  seconds: number,
  likelyRate: number,
): Promise<LoadResult> {
  const { dialect, port, path, secret } = one.contender;
  const run = one.runs.length;
  const result = await generator.ask('load', {
    dialect,
    port,
    path,
    secret,
    run,
    forMs: seconds * 1000,
    atMost: Math.ceil(seconds * likelyRate * HEADROOM),
  });
  one.runs.push({ run, used: result.used });
  one.loads.push(result);
  return result;
}

async function conclude({ contender, loads, rounds, runs }: Running): Promise<ContenderResult> {
  await contender.server.ask('settle', {});
  const refused = loads.flatMap((load) => Object.entries(load.refused));
  const rows = await countRows(contender, runs);
  const broken = [
    ...refused.map(([answer, times]) => `${times} events answered with ${answer}`),
    ...describeMismatches(rows),
  ];
  const acknowledged = loads.reduce((sum, load) => sum + load.acknowledged, 0);
  return { name: contender.name, title: contender.title, rounds, acknowledged, rows, broken };
}

function describeRound(name: string, round: number, rounds: number, load: LoadResult): string {
  const rate = Math.round(load.eventsPerSecond);
  return `round ${round + 1} of ${rounds}, ${name}: ${rate} events/s, p99 ${load.p99Ms.toFixed(1)} ms`;
}
