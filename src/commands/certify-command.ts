import { execFile } from 'node:child_process';
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { existsSync, readFileSync, watch, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import postgres from 'postgres';
import { NoSandbox } from '../conformance/integration/context.ts';
import {
  INTEGRATION_CHECKS,
  runIntegrationSuite,
  selectIntegrationChecks,
} from '../conformance/integration/run-integration-suite.ts';
import type { ReceiverInputs } from '../conformance/receiver/context.ts';
import { createObserver, type Observer } from '../conformance/receiver/observer.ts';
import { PROFILES } from '../conformance/receiver/profile.ts';
import { isLoopback, type Tier } from '../conformance/receiver/receiver-check.ts';
import {
  NoReceiver,
  quote,
  RECEIVER_CHECKS,
  runReceiverSuite,
  selectChecks,
} from '../conformance/receiver/run-receiver-suite.ts';
import { writeBadge } from '../conformance/report/badge.ts';
import { applyBaseline, readBaseline, writeBaseline } from '../conformance/report/baseline.ts';
import type { Report } from '../conformance/report/report.ts';
import { progressLine } from '../conformance/report/text-report.ts';
import type { CheckResult } from '../conformance/runner/run-checks.ts';
import { systemClock } from '../runtime/clock/system-clock.ts';
import { readEnvironment } from '../runtime/config/read-environment.ts';
import type { Environment } from '../runtime/config/read-settings.ts';
import { type CommandOptions, readCommandLine, UsageError } from './command-line.ts';
import { COMMANDS } from './commands.ts';
import {
  abortOnSignals,
  complain,
  demandWritable,
  EXIT,
  print,
  putReport,
  REPORT_OPTIONS,
} from './suite-output.ts';

const COMMAND = {
  name: 'certify',
  words: '[url]',
  summary: COMMANDS.certify,
  options: {
    secret: {
      type: 'string',
      value: 'SECRET',
      description: 'signing secret of the receiver (default: CERTIFY_SECRET)',
    },
    level: {
      type: 'string',
      value: 'LIST',
      description:
        'W: what it answers; E: what it makes of it, with an observer (default: W, and E if observed)',
    },
    profile: {
      type: 'string',
      value: 'NAME',
      description: `how deliveries are signed: ${Object.keys(PROFILES).join(' or ')} (default: messaging)`,
    },
    'old-secret': { type: 'string', value: 'SECRET', description: 'secret before the last rotation' },
    observe: {
      type: 'string',
      value: 'URL',
      description: 'returns which messages the receiver has: [{ "id": "…", "status": "…" }]',
    },
    'observe-command': { type: 'string', value: 'COMMAND', description: 'prints the same' },
    'observe-sql': {
      type: 'string',
      value: 'QUERY',
      description: 'selects id and status from the Postgres of --database-url',
    },
    'database-url': { type: 'string', value: 'URL', description: 'Postgres of --observe-sql' },
    'restart-command': {
      type: 'string',
      value: 'COMMAND',
      description: 'kills the receiver (kill -9) and starts it again; ends when it listens',
    },
    sandbox: {
      type: 'string',
      value: 'URL',
      description: 'level I: judges the integration that talks to this sandbox, instead of a receiver',
    },
    workspace: { type: 'string', value: 'ID', description: 'level I: workspace of the integration' },
    'send-command': {
      type: 'string',
      value: 'COMMAND',
      description: 'level I: has the integration send; {to} and {text} are replaced',
    },
    'pair-command': {
      type: 'string',
      value: 'COMMAND',
      description: 'level I: has the integration pair a number',
    },
    oauth: { type: 'boolean', description: 'level I: the integration uses OAuth' },
    patient: { type: 'boolean', description: 'level I: also checks that take minutes' },
    only: {
      type: 'string',
      value: 'LIST',
      description: 'only checks whose ids start with one of these, separated by commas',
    },
    list: { type: 'boolean', description: 'print the checks with their rules and exit' },
    baseline: {
      type: 'string',
      value: 'FILE',
      description:
        'checks that may fail, one id per line; one that no longer fails is a failure. Written if it does not exist',
    },
    watch: { type: 'boolean', description: 'run what failed again when Enter is pressed; q ends' },
    'watch-path': {
      type: 'string',
      value: 'PATH',
      description: 'with --watch: also when a file in it changes',
    },
    badge: { type: 'string', value: 'FILE', description: 'write the result as an SVG badge' },
    ...REPORT_OPTIONS,
  },
} as const;

const TIERS: readonly Tier[] = ['W', 'E'];

function text(options: CommandOptions, name: keyof typeof COMMAND.options): string | undefined {
  const value = options[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function listOf(value: string | undefined): readonly string[] | undefined {
  return value
    ?.split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function readTiers(options: CommandOptions, observed: boolean): readonly Tier[] {
  const given = listOf(text(options, 'level')?.toUpperCase());
  if (given === undefined) return observed ? TIERS : ['W'];
  const unknown = given.find((tier) => !(TIERS as readonly string[]).includes(tier));
  if (unknown !== undefined) throw new UsageError(`--level must be W, E or both, not "${unknown}".`);
  return TIERS.filter((tier) => given.includes(tier));
}

const runProgram = promisify(execFile);

const shell = async (command: string): Promise<string> =>
  (await runProgram('/bin/sh', ['-c', command], { maxBuffer: 64 * 1024 * 1024 })).stdout;

/** The observer of the options, and what closes it. @throws UsageError for more than one */
function readObserver(options: CommandOptions): { observer: Observer | undefined; close(): Promise<void> } {
  const [url, command, query] = (['observe', 'observe-command', 'observe-sql'] as const).map((name) =>
    text(options, name),
  );
  if ([url, command, query].filter((given) => given !== undefined).length > 1) {
    throw new UsageError('Use one of --observe, --observe-command and --observe-sql.');
  }
  const of = (read: () => Promise<unknown>, close: () => Promise<void> = () => Promise.resolve()) => ({
    observer: createObserver(read),
    close,
  });
  if (url !== undefined) {
    if (!URL.canParse(url)) throw new UsageError('--observe must be an address.');
    return of(async () => await (await fetch(url)).json());
  }
  if (command !== undefined) return of(async () => JSON.parse(await shell(command)));
  if (query === undefined) return { observer: undefined, close: async () => undefined };
  const databaseUrl = text(options, 'database-url');
  if (databaseUrl === undefined) throw new UsageError('--observe-sql needs --database-url.');
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  return of(
    () => sql.unsafe(query),
    () => sql.end({ timeout: 1 }),
  );
}

function readInputs(
  url: string | undefined,
  options: CommandOptions,
  env: Environment,
  observer: Observer | undefined,
): ReceiverInputs {
  if (url === undefined || !/^https?:\/\//.test(url) || !URL.canParse(url)) {
    throw new UsageError(
      'The address of the receiver is missing, such as http://127.0.0.1:3000/webhooks. See --help.',
    );
  }
  const name = text(options, 'profile') ?? 'messaging';
  const profile = Object.hasOwn(PROFILES, name) ? PROFILES[name] : undefined;
  if (profile === undefined) throw new UsageError(`--profile must be ${Object.keys(PROFILES).join(' or ')}.`);
  const secret = text(options, 'secret') ?? env['CERTIFY_SECRET'];
  if (secret === undefined || secret === '') throw new UsageError('--secret or CERTIFY_SECRET is required.');
  const problem = profile.refuseSecret(secret);
  if (problem !== undefined) throw new UsageError(`--secret ${problem}.`);
  const restart = text(options, 'restart-command');
  return {
    url,
    secret,
    profile,
    observer,
    oldSecret: text(options, 'old-secret'),
    restart: restart === undefined ? undefined : async () => void (await shell(restart)),
  };
}

const CHALLENGE_PATH = '/.well-known/messaging-connector-certify';

/** On another machine, only who can place a text there may have it checked. @throws UsageError */
async function demandConsent({ url, secret }: ReceiverInputs): Promise<void> {
  if (isLoopback(url)) return;
  const place = new URL(CHALLENGE_PATH, url).href;
  const token = createHmac('sha256', secret)
    .update(`certify ${new URL(url).host}`)
    .digest('hex')
    .slice(0, 32);
  const found = await fetch(place, { redirect: 'error' })
    .then((response) => response.text())
    .catch(() => '');
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  if (timingSafeEqual(digest(found.trim()), digest(token))) return;
  throw new UsageError(
    `${url} is on another machine. To show that it is yours, serve this text at ${place}: ${token}`,
  );
}

/** Checks of one kind against one target. */
interface Suite {
  /** The letters of its levels. */
  readonly levels: readonly string[];
  /** How many checks `only` selects. */
  count(only: readonly string[] | undefined): number;
  /** Demands that the target may be checked. @throws UsageError */
  demandConsent?(): Promise<void>;
  run(options: {
    readonly only: readonly string[] | undefined;
    readonly signal: AbortSignal;
    readonly onResult: (result: CheckResult) => void;
  }): Promise<Report>;
}

/** Options of level I that describe the integration. */
const OF_INTEGRATION = ['sandbox', 'workspace', 'send-command', 'pair-command', 'oauth', 'patient'] as const;

/** The command that runs one check of an integration again. */
function repeatCommand(options: CommandOptions, id: string): string {
  const words = OF_INTEGRATION.flatMap((name) => {
    const value = options[name];
    if (value === undefined || value === false) return [];
    return value === true ? [`--${name}`] : [`--${name}`, quote(String(value))];
  });
  return ['messaging-connector certify', ...words, '--only', id].join(' ');
}

/** Judges an integration by what its sandbox sees. */
function integrationSuite(sandbox: string, options: CommandOptions): Suite {
  if (!URL.canParse(sandbox) || !isLoopback(sandbox))
    throw new UsageError('--sandbox must be the address of a sandbox on this machine.');
  const [send, pair] = [text(options, 'send-command'), text(options, 'pair-command')];
  const inputs = {
    sandboxUrl: sandbox.replace(/\/+$/, ''),
    workspaceId: text(options, 'workspace'),
    send:
      send === undefined
        ? undefined
        : async (what: { readonly to: string; readonly text: string }) =>
            void (await shell(send.replaceAll('{to}', what.to).replaceAll('{text}', what.text))),
    pair: pair === undefined ? undefined : async () => void (await shell(pair)),
    oauth: options['oauth'] === true,
    patient: options['patient'] === true,
  };
  return {
    levels: ['I'],
    count: (only) => selectIntegrationChecks(only).length,
    run: (how) =>
      runIntegrationSuite({
        ...how,
        inputs,
        clock: systemClock,
        repeat: (id) => repeatCommand(options, id),
      }),
  };
}

/** Judges a receiver by its answers and, with an observer, by what it makes of deliveries. */
function receiverSuite(
  url: string | undefined,
  options: CommandOptions,
  observer: Observer | undefined,
): Suite {
  const inputs = readInputs(url, options, readEnvironment(process.cwd(), process.env), observer);
  const tiers = readTiers(options, observer !== undefined);
  return {
    levels: tiers,
    count: (only) => selectChecks(tiers, only).length,
    demandConsent: () => demandConsent(inputs),
    run: (how) => runReceiverSuite({ ...how, inputs, tiers, clock: systemClock }),
  };
}

/** Prints each check with its rule. */
function listChecks(): void {
  for (const { id, tier, level, rule, needs = [] } of [...RECEIVER_CHECKS, ...INTEGRATION_CHECKS]) {
    const needed = (needs as readonly string[]).filter((need) => need !== 'loopback');
    print(
      `${tier} ${level.padEnd(6)} ${id.padEnd(32)} ${rule}${needed.length === 0 ? '' : ` (${needed.join(', ')})`}\n`,
    );
  }
}

const failedIds = ({ results }: Report): readonly string[] =>
  results.filter(({ result }) => result !== 'pass').map(({ id }) => id);

/** Waits for Enter or for a change below `path`; resolves with false for q, Ctrl-C and the end of the input. */
async function awaitWish(path: string | undefined, signal: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const onData = (data: Buffer): void => resolve(data.toString().trim() !== 'q');
  const stop = (): void => resolve(false);
  // Explicitly: a stream that was paused once does not start by itself.
  process.stdin.on('data', onData).once('end', stop).resume();
  signal.addEventListener('abort', stop, { once: true });
  const watcher = path === undefined ? undefined : watch(path, { recursive: true }, () => resolve(true));
  const goesOn = await promise;
  watcher?.close();
  process.stdin.off('data', onData).off('end', stop).pause();
  return goesOn && !signal.aborted;
}

/** The verdict of a run against the checks that may fail; writes the file if there is none. */
function judge(report: Report, options: CommandOptions): number {
  const file = text(options, 'baseline');
  if (file === undefined) return EXIT[report.verdict];
  if (!existsSync(file)) {
    writeFileSync(file, writeBaseline(report));
    complain(`${file} was written with the checks that fail now.\n`);
    return EXIT.conforms;
  }
  const { unexpected, mended } = applyBaseline(report, readBaseline(readFileSync(file, 'utf8')));
  for (const id of unexpected) complain(`${id} fails, and is not in ${file}\n`);
  for (const id of mended) complain(`${id} no longer fails: remove it from ${file}\n`);
  if (unexpected.length > 0 || mended.length > 0) return EXIT.violates;
  return report.verdict === 'violates' ? EXIT.conforms : EXIT[report.verdict];
}

async function main(words: readonly string[]): Promise<number> {
  const given = readCommandLine(COMMAND, words, print);
  if (given === null) return EXIT.conforms;
  const { options } = given;
  if (options['list'] === true) {
    listChecks();
    return EXIT.conforms;
  }
  demandWritable(options['junit'], options['html'], options['badge']);
  const sandbox = text(options, 'sandbox');
  const { observer, close } = readObserver(options);
  try {
    const suite =
      sandbox === undefined
        ? receiverSuite(given.words['url'], options, observer)
        : integrationSuite(sandbox, options);
    let only = listOf(text(options, 'only'));
    if (suite.count(only) === 0) throw new UsageError('--only matches no check. See --list.');
    await suite.demandConsent?.();
    const signal = abortOnSignals('stopping: writing the report');
    const progress = options['json'] === true ? complain : print;
    for (;;) {
      // At once, because a finding may be followed by checks that wait.
      const hinted = new Set<string>();
      const report = await suite.run({
        only,
        signal,
        onResult: (result) => {
          if (result.unlock === undefined) progress(`${progressLine(result)}\n`);
          if (result.hint === undefined || hinted.has(result.hint)) return;
          hinted.add(result.hint);
          progress(`  ${result.hint}\n`);
        },
      });
      putReport(report, options);
      const badge = text(options, 'badge');
      if (badge !== undefined) writeFileSync(badge, writeBadge(report, suite.levels));
      const code = judge(report, options);
      if (options['watch'] !== true || signal.aborted) return code;
      const failed = failedIds(report).filter((id) =>
        report.results.some((one) => one.id === id && one.unlock === undefined),
      );
      if (failed.length > 0) only = failed;
      progress(`\nEnter runs ${failed.length > 0 ? 'what failed' : 'them'} again, q ends.\n`);
      if (!(await awaitWish(text(options, 'watch-path'), signal))) return code;
    }
  } finally {
    await close();
  }
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  complain(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode =
    error instanceof UsageError || error instanceof NoReceiver || error instanceof NoSandbox
      ? EXIT.unknown
      : EXIT.harness;
}
