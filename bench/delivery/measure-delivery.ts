import postgres from 'postgres';
import type { BenchContext } from '../context.ts';
import { describeMismatches, type RowCheck } from '../report/row-check.ts';
import type { ReceiverCommands } from './receiver.ts';
import { type DeliverResult, type Sender, type SenderName, startSenders } from './senders.ts';

/** All that was measured of one sender. */
export interface SenderResult {
  readonly name: SenderName;
  readonly title: string;
  /** Events per second of each round, warm-up not counted. */
  readonly rounds: readonly number[];
  /** Events delivered, warm-up counted. */
  readonly delivered: number;
  readonly rows: readonly RowCheck[];
  /** What went wrong; empty when nothing did. */
  readonly broken: readonly string[];
}

interface Running {
  readonly sender: Sender;
  readonly rounds: number[];
  offered: number;
  delivered: number;
  runs: number;
}

const WARM_UP_EVENTS = 2000;

/** Measures both senders in turn, round by round, and then counts what arrived and what was written down. */
export async function measureDelivery(context: BenchContext): Promise<SenderResult[]> {
  const { args, postgres: server, progress } = context;
  const receiver = context.start<ReceiverCommands>(new URL('./receiver.ts', import.meta.url));
  let senders: readonly Sender[] = [];
  try {
    const { port } = await receiver.ask('listen', {});
    progress('starting both senders');
    senders = await startSenders(context, port);
    const running = senders.map(
      (sender): Running => ({ sender, rounds: [], offered: 0, delivered: 0, runs: 0 }),
    );
    for (const one of running) await deliver(one, warmUpEvents(args.seconds));
    for (let round = 0; round < args.rounds; round++) {
      for (const one of running) {
        await server.checkpoint();
        const rate = await runRound(one, args.seconds);
        progress(`round ${round + 1} of ${args.rounds}, ${one.sender.name}: ${Math.round(rate)} events/s`);
      }
    }
    const counts = await receiver.ask('counts', {});
    const results: SenderResult[] = [];
    for (const one of running) results.push(await conclude(one, counts[one.sender.path] ?? 0));
    return results;
  } finally {
    await Promise.all([receiver.stop(), ...senders.map(({ child }) => child.stop())]);
  }
}

function warmUpEvents(seconds: number): number {
  return Math.ceil(WARM_UP_EVENTS * Math.min(1, seconds));
}

/** A short stretch finds the rate; the measured one then takes about as long as was asked for. */
async function runRound(one: Running, seconds: number): Promise<number> {
  const probe = await deliver(one, warmUpEvents(seconds));
  const measured = await deliver(one, Math.ceil(rateOf(probe) * seconds));
  one.rounds.push(rateOf(measured));
  return rateOf(measured);
}

async function deliver(one: Running, count: number): Promise<DeliverResult> {
  const result = await one.sender.child.ask('deliver', { run: one.runs++, count });
  one.offered += count;
  one.delivered += result.delivered;
  return result;
}

function rateOf({ delivered, elapsedMs }: DeliverResult): number {
  return (delivered / elapsedMs) * 1000;
}

async function conclude(
  { sender, rounds, offered, delivered }: Running,
  received: number,
): Promise<SenderResult> {
  const rows: RowCheck[] = [
    { what: 'events delivered', expected: offered, found: delivered },
    { what: 'requests at the receiver', expected: offered, found: received },
    ...(sender.databaseUrl === '' ? [] : await countPlatformRows(sender.databaseUrl, offered)),
  ];
  return {
    name: sender.name,
    title: sender.title,
    rounds,
    delivered,
    rows,
    broken: describeMismatches(rows),
  };
}

async function countPlatformRows(databaseUrl: string, offered: number): Promise<RowCheck[]> {
  const sql = postgres(databaseUrl, { max: 1 });
  try {
    const [ledger] = await sql<{ count: number }[]>`SELECT count(*)::int AS count FROM platform.ledger`;
    const [delivered] = await sql<{ count: number }[]>`
      SELECT count(*)::int AS count FROM platform.deliveries WHERE outcome = 'delivered'`;
    return [
      { what: 'events in the ledger', expected: offered, found: ledger?.count ?? -1 },
      { what: 'deliveries written down', expected: offered, found: delivered?.count ?? -1 },
    ];
  } finally {
    await sql.end({ timeout: 5 });
  }
}
