import type { BenchContext } from '../context.ts';
import type { Child } from '../process/child.ts';
import { countRows, describeMismatches, type RowCheck } from '../report/row-check.ts';
import { type Ratio, ratioOf, spreadOf } from '../report/statistics.ts';
import { measureSizes } from '../report/table-sizes.ts';
import type { LoadCommands, LoadResult } from './generate-load.ts';
import { expectedRows } from './service-events.ts';

/** What every server under load offers to the benchmark. */
export type ServerCommands = {
  /** Prepares the database, listens on a free port and answers with it. */
  listen(input: ServerSetup): Promise<{ port: number }>;
  /** Resolves when nothing is left to do for the events acknowledged so far. */
  settle(input: Record<string, never>): Promise<void>;
};

export interface ServerSetup {
  readonly name: ContenderName;
  readonly databaseUrl: string;
  readonly path: string;
  readonly secret: string;
}

export type ContenderName = 'connector' | 'options' | 'verify' | 'insert';

interface Contender {
  readonly title: string;
  readonly module: URL;
}

const SERVICE = {
  path: '/webhooks/messaging',
  secret: 'bench-signing-secret-0123456789abcdef',
} as const;

const CONNECTOR = new URL('./servers/connector.ts', import.meta.url);
const RIVALS = new URL('./servers/rivals.ts', import.meta.url);

/** In the order of their turns. */
const CONTENDERS: Readonly<Record<ContenderName, Contender>> = {
  connector: { title: 'the connector', module: CONNECTOR },
  options: { title: 'with kept files, search and retention', module: CONNECTOR },
  verify: { title: 'verifies, stores nothing', module: RIVALS },
  insert: { title: 'one INSERT per event', module: RIVALS },
};

/** A contender whose server runs, in a process of its own and on a database of its own. */
interface Running {
  readonly name: ContenderName;
  readonly server: Child<ServerCommands>;
  readonly port: number;
  readonly databaseUrl: string;
  /** What each run sent, warm-up included: always its first events. The place of a run is its number. */
  readonly loads: LoadResult[];
  /** Warm-up not included. */
  readonly rounds: LoadResult[];
}

/** Requests built for a warm-up, when the rate is not known yet: more than two cores can take. */
const WARM_UP_EVENTS_PER_SECOND = 25_000;
/** A stretch may be this much faster than its warm-up before it runs out of requests. */
const HEADROOM = 1.6;

/** Measures every receiver in turn, round by round, and then counts what each of them stored. */
export async function measureIngest(context: BenchContext) {
  const { args, postgres, progress } = context;
  const generator = context.start<LoadCommands>(new URL('./generate-load.ts', import.meta.url));
  const running: Running[] = [];
  try {
    for (const name of Object.keys(CONTENDERS) as ContenderName[]) {
      progress(`starting ${name}`);
      const { module } = CONTENDERS[name];
      const databaseUrl = await postgres.createDatabase(name);
      const server = context.start<ServerCommands>(module);
      const one = { name, server, databaseUrl, port: 0, loads: [], rounds: [] };
      running.push(one);
      one.port = (await server.ask('listen', { name, databaseUrl, ...SERVICE })).port;
    }
    for (let round = 0; round < args.rounds; round++) {
      for (const one of running) {
        await postgres.checkpoint();
        const { eventsPerSecond, p99Ms } = await runRound(one, generator, round, args.seconds);
        const measured = `${Math.round(eventsPerSecond)} events/s, p99 ${p99Ms.toFixed(1)} ms`;
        progress(`round ${round + 1} of ${args.rounds}, ${one.name}: ${measured}`);
      }
    }
    const contenders = [];
    for (const one of running) contenders.push(await conclude(one));
    return {
      report: { ratios: compareAll(running), contenders },
      broken: contenders.flatMap(({ name, broken }) => broken.map((reason) => `${name}: ${reason}`)),
    };
  } finally {
    await Promise.all([generator.stop(), ...running.map(({ server }) => server.stop())]);
  }
}

async function runRound(
  one: Running,
  generator: Child<LoadCommands>,
  round: number,
  seconds: number,
): Promise<LoadResult> {
  const offer = async (forSeconds: number, likelyRate: number): Promise<LoadResult> => {
    const run = one.loads.length;
    const atMost = Math.ceil(forSeconds * likelyRate * HEADROOM);
    const plan = { ...SERVICE, port: one.port, run, forMs: forSeconds * 1000, atMost };
    const load = await generator.ask('load', plan);
    one.loads.push(load);
    return load;
  };
  const warmUpSeconds = round === 0 ? Math.max(1, seconds / 2) : Math.max(0.3, seconds / 5);
  // A run of less than a second only tries the benchmark out.
  const warmUp = await offer(Math.min(seconds, warmUpSeconds), WARM_UP_EVENTS_PER_SECOND);
  const measured = await offer(seconds, Math.max(1000, warmUp.eventsPerSecond));
  one.rounds.push(measured);
  await one.server.ask('settle', {});
  return measured;
}

function compareAll(running: readonly Running[]): Ratio[] {
  const of = (wanted: ContenderName, figure: 'eventsPerSecond' | 'p99Ms'): number[] =>
    running.flatMap(({ name, rounds }) => (name === wanted ? rounds.map((load) => load[figure]) : []));
  const rate = (name: ContenderName): number[] => of(name, 'eventsPerSecond');
  const stores = 'connector / verifies, stores nothing: events per second';
  const extras = 'with kept files, search and retention / without: events per second';
  const waits = 'connector / one INSERT per event: p99';
  return [
    ratioOf(stores, { atLeast: 0.5 }, rate('connector'), rate('verify')),
    ratioOf(extras, { atLeast: 0.7 }, rate('options'), rate('connector')),
    ratioOf(waits, { below: 1 }, of('connector', 'p99Ms'), of('insert', 'p99Ms')),
  ];
}

async function conclude(one: Running) {
  const { name, server, loads, rounds } = one;
  await server.ask('settle', {});
  const rows = await checkRows(one);
  const refused = loads.flatMap((load) => Object.entries(load.refused));
  const over = (pick: (load: LoadResult) => number) => spreadOf(rounds.map(pick));
  return {
    name,
    title: CONTENDERS[name].title,
    eventsPerSecond: over((load) => load.eventsPerSecond),
    p50Ms: over((load) => load.p50Ms),
    p99Ms: over((load) => load.p99Ms),
    /** Events answered 2xx, warm-up counted. */
    acknowledged: loads.reduce((sum, load) => sum + load.acknowledged, 0),
    ...(name === 'connector' ? { bytesPerMessage: await measureSizes(one.databaseUrl) } : {}),
    rows,
    broken: [
      ...refused.map(([answer, times]) => `${times} events answered with ${answer}`),
      ...describeMismatches(rows),
    ],
  };
}

/** Counts what a contender stored. One that stores nothing has no checks. */
async function checkRows({ name, databaseUrl, loads }: Running): Promise<RowCheck[]> {
  const events = loads.reduce((sum, { used }) => sum + used, 0);
  const all = loads.map(({ used }, run) => expectedRows(run, used));
  const sum = (pick: (rows: (typeof all)[number]) => number) =>
    all.reduce((total, rows) => total + pick(rows), 0);
  const messages = sum((rows) => rows.messages);
  const unnumbered =
    'connector.changes c LEFT JOIN connector.change_batches b ON b.id = c.batch WHERE b.last_seq IS NULL';
  switch (name) {
    case 'connector':
    case 'options':
      return await countRows(databaseUrl, [
        ['raw events', events, 'connector.inbox'],
        ['messages', messages, 'connector.messages'],
        [
          'messages delivered',
          sum((rows) => rows.statuses.delivered),
          `connector.messages WHERE status = 'delivered'`,
        ],
        ['messages read', sum((rows) => rows.statuses.read), `connector.messages WHERE status = 'read'`],
        ['changes that announce a message', messages, `connector.changes WHERE type = 'message.created'`],
        ['changes without a number', 0, unnumbered],
      ]);
    case 'insert':
      return await countRows(databaseUrl, [['events', events, 'events']]);
    case 'verify':
      return [];
  }
}
