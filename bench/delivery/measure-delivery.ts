import type { BenchContext } from '../context.ts';
import type { Child } from '../process/child.ts';
import { countRows, describeMismatches, type RowCheck } from '../report/row-check.ts';
import { ratioOf, spreadOf } from '../report/statistics.ts';
import type { ReceiverCommands } from './receiver.ts';

/** What both senders offer to the benchmark, each in a process of its own. */
export type SenderCommands = {
  prepare(input: SenderSetup): Promise<void>;
  /** Delivers `count` events of a run, all of them built before the clock starts. */
  deliver(input: { readonly run: number; readonly count: number }): Promise<Delivered>;
};

export interface SenderSetup {
  readonly port: number;
  readonly path: string;
  readonly secret: string;
  /** Requests under way at a time. */
  readonly concurrency: number;
  /** Empty for the sender without a database. */
  readonly databaseUrl: string;
}

/** Events answered 2xx, and the time until nothing was left to send or to write down. */
export interface Delivered {
  readonly delivered: number;
  readonly elapsedMs: number;
}

const SENDERS = {
  platform: {
    title: 'the platform, every attempt written down',
    module: new URL('./platform-delivery.ts', import.meta.url),
  },
  bare: { title: 'a bare loop that signs and posts', module: new URL('./bare-loop.ts', import.meta.url) },
} as const;
type SenderName = keyof typeof SENDERS;

interface Running {
  readonly name: SenderName;
  readonly child: Child<SenderCommands>;
  readonly databaseUrl: string;
  /** Events per second of each round, warm-up not counted. */
  readonly rounds: number[];
  offered: number;
  delivered: number;
  runs: number;
}

const WARM_UP_EVENTS = 2000;

/** Measures both senders in turn, round by round, and then counts what arrived and what was written down. */
export async function measureDelivery(context: BenchContext) {
  const { args, postgres, progress } = context;
  const receiver = context.start<ReceiverCommands>(new URL('./receiver.ts', import.meta.url));
  const running: Running[] = [];
  const warmUp = Math.ceil(WARM_UP_EVENTS * Math.min(1, args.seconds));
  try {
    const { port } = await receiver.ask('listen', {});
    progress('starting both senders');
    for (const name of ['platform', 'bare'] as const) {
      const child = context.start<SenderCommands>(SENDERS[name].module);
      const databaseUrl = name === 'platform' ? await postgres.createDatabase(name) : '';
      running.push({ name, child, databaseUrl, rounds: [], offered: 0, delivered: 0, runs: 0 });
      const secret = 'bench-signing-secret-0123456789abcdef';
      await child.ask('prepare', { port, path: `/${name}`, secret, concurrency: 64, databaseUrl });
    }
    for (const one of running) await deliver(one, warmUp);
    for (let round = 0; round < args.rounds; round++) {
      for (const one of running) {
        await postgres.checkpoint();
        // A short stretch finds the rate; the measured one then takes about as long as was asked for.
        const rate = await deliver(one, Math.ceil((await deliver(one, warmUp)) * args.seconds));
        one.rounds.push(rate);
        progress(`round ${round + 1} of ${args.rounds}, ${one.name}: ${Math.round(rate)} events/s`);
      }
    }
    const counts = await receiver.ask('counts', {});
    const contenders = await Promise.all(running.map((one) => conclude(one, counts[`/${one.name}`] ?? 0)));
    const [ours = [], theirs = []] = running.map(({ rounds }) => rounds);
    return {
      report: {
        ratios: [ratioOf('platform / bare loop: events per second', { atLeast: 0.35 }, ours, theirs)],
        contenders,
      },
      broken: contenders.flatMap(({ name, broken }) => broken.map((reason) => `${name}: ${reason}`)),
    };
  } finally {
    await Promise.all([receiver, ...running.map(({ child }) => child)].map((child) => child.stop()));
  }
}

/** Resolves with the events per second. */
async function deliver(one: Running, count: number): Promise<number> {
  const { delivered, elapsedMs } = await one.child.ask('deliver', { run: one.runs++, count });
  one.offered += count;
  one.delivered += delivered;
  return (delivered / elapsedMs) * 1000;
}

async function conclude({ name, databaseUrl, rounds, offered, delivered }: Running, received: number) {
  const rows: RowCheck[] = [
    { what: 'events delivered', expected: offered, found: delivered },
    { what: 'requests at the receiver', expected: offered, found: received },
  ];
  if (databaseUrl !== '')
    rows.push(
      ...(await countRows(databaseUrl, [
        ['events in the ledger', offered, 'platform.ledger'],
        ['deliveries written down', offered, "platform.deliveries WHERE outcome = 'delivered'"],
      ])),
    );
  const eventsPerSecond = spreadOf(rounds);
  return {
    name,
    title: SENDERS[name].title,
    eventsPerSecond,
    delivered,
    rows,
    broken: describeMismatches(rows),
  };
}
