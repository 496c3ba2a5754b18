import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { type OpenDelivery, openDelivery, recordRun } from '../delivery/open-delivery.ts';
import { serveParent } from '../process/serve-parent.ts';
import { percentile } from '../report/statistics.ts';

/** A service with two accounts: the one that is measured, and its neighbour. */
export type TwoAccountsCommands = {
  prepare(input: TwoAccountsSetup): Promise<void>;
  /** Hands events of the neighbour over and does not wait for them. */
  flood(input: { readonly run: number; readonly count: number }): Promise<void>;
  /** Hands events of the measured account over at a steady pace and waits until they are over. */
  deliver(input: PacedRun): Promise<PacedResult>;
  /** How many events of the neighbour were delivered so far. */
  floodDelivered(input: Record<string, never>): Promise<number>;
};

export interface TwoAccountsSetup {
  readonly databaseUrl: string;
  readonly secret: string;
  readonly port: number;
  readonly neighbourPort: number;
}

export interface PacedRun {
  readonly run: number;
  readonly count: number;
  readonly perSecond: number;
}

/** From the hand-over of an event to the answer of its receiver, in milliseconds. */
export interface PacedResult {
  readonly delivered: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const MEASURED = 'bench-measured';
const NEIGHBOUR = 'bench-neighbour';
const PACE_MS = 10;

const clock = systemClock;
/** When events of the measured account were handed over, by their ids. */
const begun = new Map<number, number>();
let times: number[] = [];
let running: OpenDelivery | undefined;
let tellAllOver = (): void => undefined;

async function prepare({ databaseUrl, secret, port, neighbourPort }: TwoAccountsSetup): Promise<void> {
  running = await openDelivery({
    databaseUrl,
    secret,
    accounts: [
      { workspaceId: MEASURED, port, path: '/measured' },
      { workspaceId: NEIGHBOUR, port: neighbourPort, path: '/neighbour' },
    ],
    onChange(read) {
      const { eventId, outcome } = read();
      const start = begun.get(eventId);
      if (start === undefined || outcome === 'pending') return;
      begun.delete(eventId);
      if (outcome === 'delivered') times.push(clock.elapsed() - start);
      if (begun.size === 0) tellAllOver();
    },
  });
}

async function flood({ run, count }: { readonly run: number; readonly count: number }): Promise<void> {
  const { database, delivery } = opened();
  delivery.deliver(await recordRun(database, NEIGHBOUR, run, count));
}

async function deliver({ run, count, perSecond }: PacedRun): Promise<PacedResult> {
  const { database, delivery } = opened();
  const events = await recordRun(database, MEASURED, run, count);
  times = [];
  const over = new Promise<void>((resolve) => {
    tellAllOver = () => {
      if (next === events.length) resolve();
    };
  });
  let next = 0;
  const start = clock.elapsed();
  while (next < events.length) {
    await clock.sleep(PACE_MS);
    const due = Math.min(events.length, Math.ceil(((clock.elapsed() - start) * perSecond) / 1000));
    const handed = events.slice(next, due);
    next = due;
    for (const { id } of handed) begun.set(id, clock.elapsed());
    delivery.deliver(handed);
  }
  if (begun.size > 0) await over;
  const sorted = times.toSorted((a, b) => a - b);
  return { delivered: sorted.length, p50Ms: percentile(sorted, 0.5), p99Ms: percentile(sorted, 0.99) };
}

async function floodDelivered(): Promise<number> {
  const [row] = await opened().database.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM platform.deliveries d JOIN platform.ledger l ON l.id = d.event_id
     WHERE l.workspace_id = $1 AND d.outcome = 'delivered'`,
    [NEIGHBOUR],
  );
  return row?.count ?? 0;
}

function opened(): OpenDelivery {
  if (running === undefined) throw new Error('prepare comes first');
  return running;
}

serveParent({ prepare, flood, deliver, floodDelivered } satisfies TwoAccountsCommands, async () => {
  await running?.close();
});
