import { parseArgs } from 'node:util';

/** What a run of the benchmark was asked for. */
export interface BenchArguments {
  readonly benches: readonly BenchName[];
  readonly json: boolean;
  /** Measured seconds of each round. Undefined: each benchmark's own. */
  readonly seconds: number | undefined;
  /** Undefined: each benchmark's own. */
  readonly rounds: number | undefined;
  readonly without: readonly string[];
  /** A folder for CPU profiles of the child processes. */
  readonly profileFolder: string | undefined;
  /** Messages of the large database of `pages`. */
  readonly rows: number;
  /** Messages of the account of `reconcile`. */
  readonly messages: number;
  /** Deliveries beside which the page of `console` is opened. */
  readonly deliveries: number;
  /** Events that the page of `console` hears while it is open. */
  readonly events: number;
}

/** How long and how often a benchmark measures. */
export interface Pace {
  readonly seconds: number;
  readonly rounds: number;
}

const BENCHES = [
  'ingest',
  'delivery',
  'isolation',
  'reconcile',
  'sends',
  'postgres',
  'pages',
  'console',
] as const;
export type BenchName = (typeof BENCHES)[number];

/**
 * The 99th percentile of two seconds of `isolation` is that of ten deliveries, so it takes many rounds; a round of
 * `reconcile` or `console` lasts as long as its walks.
 */
const PACES: Readonly<Record<BenchName, Pace>> = {
  ingest: { seconds: 5, rounds: 3 },
  delivery: { seconds: 5, rounds: 3 },
  isolation: { seconds: 2, rounds: 15 },
  reconcile: { seconds: 0, rounds: 3 },
  sends: { seconds: 5, rounds: 3 },
  postgres: { seconds: 5, rounds: 3 },
  pages: { seconds: 5, rounds: 3 },
  console: { seconds: 0, rounds: 3 },
};

/** The pace of a benchmark: what was asked for, or else its own. */
export function paceOf(args: BenchArguments, name: BenchName): Pace {
  return { seconds: args.seconds ?? PACES[name].seconds, rounds: args.rounds ?? PACES[name].rounds };
}

/** What runs when nothing is named. `pages` and `console` are left out: their databases take minutes to make. */
const USUAL: readonly BenchName[] = ['ingest', 'delivery', 'isolation', 'reconcile', 'sends', 'postgres'];

export const HELP = `Usage: npm run bench [-- ingest | delivery | isolation | reconcile | sends | postgres | pages | console …] [options]

  ingest      webhook events stored per second, beside three other receivers
  delivery    webhook events delivered per second, beside a bare loop
  isolation   how long deliveries of one account take beside an account whose receiver never answers
  reconcile   messages of a fresh account stored per second, beside a bare client that walks the same pages
  sends       how long a send waits that one process queues and another one makes, with Postgres and with Redis
  postgres    what an event costs the distribution's Postgres, beside the one from npm
  pages       what a page of messages costs with many stored, beside one with few
  console     the console beside many deliveries: first paint, longest task, memory
  (none)      all but pages and console

  --seconds N     measured seconds of each round (default 5; isolation 2)
  --rounds N      rounds; every contender has its turn in each (default 3; isolation 15)
  --without NAME  leave a contender of ingest out: verify, insert or stripe; or a service of reconcile:
                  platform, distant or memory (repeatable)
  --rows N        messages stored for pages (default 5000000, needs about 3 GB)
  --messages N    messages of the account of reconcile (default 100000)
  --deliveries N  deliveries beside which the console is opened (default 20000)
  --events N      events that the console hears while it is open (default 50000)
  --profile DIR   write a CPU profile of each child process to DIR
  --json          one JSON object on standard output
  --help          this text

Postgres: TEST_DATABASE_URL, or an embedded one in a temporary folder, with fsync on.
Redis, for sends: TEST_REDIS_URL, or a redis-server that is installed.
The exit code is 1 when something is broken (an answer other than 2xx, a row too few or too many),
and never because a figure is low.
`;

const OPTIONAL_CONTENDERS = ['verify', 'insert', 'stripe', 'platform', 'distant', 'memory'];

/** Reads the command line; undefined means that help was asked for. Throws a sentence for the user. */
export function readArguments(argv: readonly string[]): BenchArguments | undefined {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      seconds: { type: 'string' },
      rounds: { type: 'string' },
      without: { type: 'string', multiple: true, default: [] },
      profile: { type: 'string' },
      rows: { type: 'string', default: '5000000' },
      messages: { type: 'string', default: '100000' },
      deliveries: { type: 'string', default: '20000' },
      events: { type: 'string', default: '50000' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const unknown = values.without.find((name) => !OPTIONAL_CONTENDERS.includes(name));
  if (unknown !== undefined)
    throw new Error(`--without takes ${OPTIONAL_CONTENDERS.join(', ')}, not ${unknown}`);
  return {
    benches: positionals.length === 0 ? USUAL : positionals.map(readBench),
    json: values.json,
    seconds: values.seconds === undefined ? undefined : readNumber('--seconds', values.seconds, 0.1, 600),
    rounds: values.rounds === undefined ? undefined : readCount('--rounds', values.rounds, 1, 100),
    without: values.without,
    profileFolder: values.profile,
    rows: readCount('--rows', values.rows, 10_000, 50_000_000),
    messages: readCount('--messages', values.messages, 1, 10_000_000),
    deliveries: readCount('--deliveries', values.deliveries, 40, 1_000_000),
    events: readCount('--events', values.events, 40, 10_000_000),
  };
}

function readBench(name: string): BenchName {
  const bench = BENCHES.find((known) => known === name);
  if (bench === undefined) throw new Error(`there is no benchmark ${name}; there are ${BENCHES.join(', ')}`);
  return bench;
}

function readCount(option: string, text: string, min: number, max: number): number {
  return Math.round(readNumber(option, text, min, max));
}

function readNumber(option: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (!(value >= min && value <= max))
    throw new Error(`${option} takes a number from ${min} to ${max}, not ${text}`);
  return value;
}
