import type { BenchContext } from '../context.ts';
import type { ReceiverCommands } from '../delivery/receiver.ts';
import type { Child } from '../process/child.ts';
import { describeMismatches, type RowCheck } from '../report/row-check.ts';
import type { BlackHoleCommands } from './black-hole.ts';
import type { PacedResult, TwoAccountsCommands } from './two-accounts.ts';

/** What the measured account saw, round by round. */
export interface IsolationResult {
  /** Its neighbour has nothing to deliver. */
  readonly alone: readonly PacedResult[];
  /** The receiver of its neighbour takes connections and never answers. */
  readonly beside: readonly PacedResult[];
  /** The most connections that the black hole held at once in each round. */
  readonly held: readonly number[];
  readonly rows: readonly RowCheck[];
  readonly broken: readonly string[];
}

const SECRET = 'bench-signing-secret-0123456789abcdef';
const PER_SECOND = 500;
const MAX_WARM_UP_EVENTS = 1_000;
/** Events that the neighbour begins with, and those that come with each round. */
const FLOOD_FIRST = 5_000;
const FLOOD_MORE = 500;

/**
 * Measures one account twice in each round: in a service whose other account is quiet, and in one whose other
 * account delivers into a black hole. Both services are the same in all else and run the whole time.
 */
export async function measureIsolation(context: BenchContext): Promise<IsolationResult> {
  const { args, postgres, progress } = context;
  const receiver = context.start<ReceiverCommands>(new URL('../delivery/receiver.ts', import.meta.url));
  const hole = context.start<BlackHoleCommands>(new URL('./black-hole.ts', import.meta.url));
  const services: Service[] = [];
  try {
    const [{ port }, { port: neighbourPort }] = [
      await receiver.ask('listen', {}),
      await hole.ask('listen', {}),
    ];
    const start = async (name: string): Promise<Service> => {
      const child = context.start<TwoAccountsCommands>(new URL('./two-accounts.ts', import.meta.url));
      const service = { child, results: [], runs: 0, offered: 0 };
      services.push(service);
      const databaseUrl = await postgres.createDatabase(`isolation_${name}`);
      await child.ask('prepare', { databaseUrl, secret: SECRET, port, neighbourPort });
      return service;
    };
    const alone = await start('alone');
    const beside = await start('beside');
    await flood(beside, FLOOD_FIRST);
    const count = Math.ceil(args.seconds * PER_SECOND);
    for (const service of [alone, beside]) await deliver(service, Math.min(count, MAX_WARM_UP_EVENTS));
    const held: number[] = [];
    for (let round = 0; round < args.rounds; round += 1) {
      await flood(beside, FLOOD_MORE);
      // Who goes first changes, so that nothing that drifts within a round falls on one of them.
      for (const service of round % 2 === 0 ? [alone, beside] : [beside, alone]) {
        await postgres.checkpoint();
        service.results.push(await deliver(service, count));
      }
      held.push(await hole.ask('held', {}));
      const [left, right] = [alone.results.at(-1)?.p99Ms, beside.results.at(-1)?.p99Ms];
      progress(
        `round ${round + 1} of ${args.rounds}: p99 ${left?.toFixed(1)} ms alone, ${right?.toFixed(1)} ms`,
      );
    }
    const requests = (await receiver.ask('counts', {}))['/measured'] ?? 0;
    const rows: RowCheck[] = [
      { what: 'events at the receiver', expected: alone.offered + beside.offered, found: requests },
      ...services.map((service) => ({
        what: 'rounds in which every event was delivered',
        expected: args.rounds,
        found: service.results.filter(({ delivered }) => delivered === count).length,
      })),
      { what: 'events that came out of the black hole', expected: 0, found: await floodDelivered(beside) },
      {
        what: 'rounds in which the black hole held connections',
        expected: args.rounds,
        found: countHeld(held),
      },
    ];
    return { alone: alone.results, beside: beside.results, held, rows, broken: describeMismatches(rows) };
  } finally {
    await Promise.all([receiver, hole, ...services.map(({ child }) => child)].map((child) => child.stop()));
  }
}

interface Service {
  readonly child: Child<TwoAccountsCommands>;
  readonly results: PacedResult[];
  runs: number;
  /** Events of the measured account, warm-up counted. */
  offered: number;
}

async function flood(service: Service, count: number): Promise<void> {
  await service.child.ask('flood', { run: service.runs++, count });
}

async function deliver(service: Service, count: number): Promise<PacedResult> {
  service.offered += count;
  return await service.child.ask('deliver', { run: service.runs++, count, perSecond: PER_SECOND });
}

function floodDelivered({ child }: Service): Promise<number> {
  return child.ask('floodDelivered', {});
}

function countHeld(held: readonly number[]): number {
  return held.filter((connections) => connections > 0).length;
}
