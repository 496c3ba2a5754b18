import { parseArgs } from 'node:util';

/** How long and how often a benchmark measures. */
export interface Pace {
  /** Measured seconds of each round; 0: a round lasts as long as its walks. */
  readonly seconds: number;
  readonly rounds: number;
}

const SECONDS = { ingest: 5, delivery: 5, reconcile: 0, sends: 5, console: 0 };
export type BenchName = keyof typeof SECONDS;
const BENCHES = Object.keys(SECONDS) as BenchName[];

/** What a run of the benchmark was asked for. */
export interface BenchArguments {
  readonly benches: readonly BenchName[];
  readonly json: boolean;
  /** Undefined: each benchmark's own. */
  readonly seconds: number | undefined;
  readonly rounds: number;
  /** Messages of the account of `reconcile`. */
  readonly messages: number;
  /** Deliveries beside which the page of `console` is opened, and events that it hears while it is open. */
  readonly deliveries: number;
  readonly events: number;
}

/** The pace of a benchmark: what was asked for, or else its own. */
export function paceOf(args: BenchArguments, name: BenchName): Pace {
  return { seconds: args.seconds ?? SECONDS[name], rounds: args.rounds };
}

export const HELP = `Usage: npm run bench [-- ingest | delivery | reconcile | sends | console …] [options]

  ingest      webhook events stored per second, beside two other receivers
  delivery    webhook events delivered per second, beside a bare loop
  reconcile   messages of a fresh account stored per second, beside a bare client that walks the same pages
  sends       how long a send waits that one process queues and another one makes, with Postgres and with Redis
  console     the console beside many deliveries: first paint, longest task, memory
  (none)      all but console

  --seconds N     measured seconds of each round (default 5)
  --rounds N      rounds; every contender has its turn in each (default 3)
  --messages N    messages of the account of reconcile (default 100000)
  --deliveries N  deliveries beside which the console is opened (default 20000)
  --events N      events that the console hears while it is open (default 50000)
  --json          one JSON object on standard output
  --help          this text

Postgres: TEST_DATABASE_URL, or an embedded one in a temporary folder, with fsync on.
Redis, for sends: TEST_REDIS_URL, or a redis-server that is installed.
The exit code is 1 when something is broken (an answer other than 2xx, a row too few or too many),
and never because a figure is low.
`;

/** Reads the command line; undefined means that help was asked for. Throws a sentence for the user. */
export function readArguments(argv: readonly string[]): BenchArguments | undefined {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      seconds: { type: 'string' },
      rounds: { type: 'string', default: '3' },
      messages: { type: 'string', default: '100000' },
      deliveries: { type: 'string', default: '20000' },
      events: { type: 'string', default: '50000' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const count = (option: 'rounds' | 'messages' | 'deliveries' | 'events', min: number, max: number): number =>
    Math.round(readNumber(`--${option}`, values[option], min, max));
  return {
    benches:
      positionals.length === 0 ? BENCHES.filter((name) => name !== 'console') : positionals.map(readBench),
    json: values.json,
    seconds: values.seconds === undefined ? undefined : readNumber('--seconds', values.seconds, 0.1, 600),
    rounds: count('rounds', 1, 100),
    messages: count('messages', 1, 10_000_000),
    deliveries: count('deliveries', 40, 1_000_000),
    events: count('events', 40, 10_000_000),
  };
}

function readBench(name: string): BenchName {
  const bench = BENCHES.find((known) => known === name);
  if (bench === undefined) throw new Error(`there is no benchmark ${name}; there are ${BENCHES.join(', ')}`);
  return bench;
}

function readNumber(option: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (!(value >= min && value <= max))
    throw new Error(`${option} takes a number from ${min} to ${max}, not ${text}`);
  return value;
}
