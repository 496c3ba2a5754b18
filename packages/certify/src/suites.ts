import { spawn } from 'node:child_process';
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { text as textOf } from 'node:stream/consumers';
import postgres from 'postgres';
import { type CommandOptions, UsageError } from '../../../src/commands/command-line.ts';
import type { Clock } from '../../../src/runtime/clock/clock.ts';
import { DeadlinePassed, within as withinTime } from '../../../src/runtime/clock/deadline.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { readEnvironment } from '../../../src/runtime/config/read-environment.ts';
import type { Environment } from '../../../src/runtime/config/read-settings.ts';
import { signWrongly } from '../../../src/sandbox/deliveries/sign-wrongly.ts';
import { runIntegrationSuite, selectIntegrationChecks } from './integration/run-integration-suite.ts';
import { text } from './options.ts';
import type { ReceiverInputs } from './receiver/context.ts';
import { PROFILES, type Profile } from './receiver/profile.ts';
import { isLoopback, type Tier } from './receiver/receiver-check.ts';
import { quote, runReceiverSuite, selectChecks } from './receiver/run-receiver-suite.ts';
import type { Report } from './report/report.ts';
import { Skip } from './runner/check.ts';
import { createObserver, type Observer } from './runner/observer.ts';
import type { SuiteRun } from './suite/run-suite.ts';
import { listOf } from './suite/suite-output.ts';

const TIERS: readonly Tier[] = ['W', 'E'];

function readTiers(options: CommandOptions, observed: boolean): readonly Tier[] {
  const given = listOf(text(options, 'level')?.toUpperCase());
  if (given === undefined) return observed ? TIERS : ['W'];
  const unknown = given.find((tier) => !(TIERS as readonly string[]).includes(tier));
  if (unknown !== undefined) throw new UsageError(`--level must be W, E or both, not "${unknown}".`);
  return TIERS.filter((tier) => given.includes(tier));
}

/** How long an address or command of an option may take, and a receiver that is asked for consent. */
const LIMIT_MS = 60_000;
const CONSENT_MS = 10_000;

/** @throws Skip that names the option, if what it names fails or takes too long: no fault of what is judged */
async function within<Result>(
  what: string,
  clock: Clock,
  run: (signal: AbortSignal) => Promise<Result>,
  ms = LIMIT_MS,
): Promise<Result> {
  const late = new AbortController();
  return await withinTime(clock, ms, run(late.signal)).catch((error: unknown) => {
    late.abort();
    if (error instanceof DeadlinePassed) throw new Skip(`${what} has not ended within ${ms / 1_000} s`);
    throw new Skip(`${what}: ${error instanceof Error ? error.message : String(error)}`);
  });
}

/** What a command prints that an option has given. @throws Skip as `within` does */
export const shell = (option: string, command: string, clock: Clock = systemClock): Promise<string> =>
  within(option, clock, async (signal) => {
    // In a group of its own, so that what the shell has started ends with it.
    const child = spawn('/bin/sh', ['-c', command], { detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = once(child, 'close');
    signal.onabort = () => {
      try {
        process.kill(-(child.pid ?? Number.NaN), 'SIGKILL');
      } catch {
        // Nothing of it runs.
      }
    };
    const [printed, complaint] = await Promise.all([textOf(child.stdout), textOf(child.stderr), ended]);
    if (child.exitCode !== 0) throw new Error(`Command failed: ${command}\n${complaint}`);
    return printed;
  });

/** The observer of the options, and what closes it. @throws UsageError for more than one */
export function readObserver(
  options: CommandOptions,
  clock: Clock = systemClock,
): {
  observer: Observer | undefined;
  close(): Promise<void>;
} {
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
    return of(() =>
      within('--observe', clock, async (signal) => await (await fetch(url, { signal })).json()),
    );
  }
  if (command !== undefined)
    return of(async () => JSON.parse(await shell('--observe-command', command, clock)));
  if (query === undefined) return { observer: undefined, close: async () => undefined };
  const databaseUrl = text(options, 'database-url');
  if (databaseUrl === undefined) throw new UsageError('--observe-sql needs --database-url.');
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  return of(
    () =>
      within('--observe-sql', clock, async (signal) => {
        const asked = sql.unsafe(query);
        signal.onabort = () => asked.cancel();
        return await asked;
      }),
    () => sql.end({ timeout: 1 }),
  );
}

/** The profile of the options. @throws UsageError for an unknown one */
export function readProfile(options: CommandOptions): Profile {
  const name = text(options, 'profile') ?? 'messaging';
  const profile = Object.hasOwn(PROFILES, name) ? PROFILES[name as keyof typeof PROFILES] : undefined;
  if (profile === undefined) throw new UsageError(`--profile must be ${Object.keys(PROFILES).join(' or ')}.`);
  return profile;
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
  const profile = readProfile(options);
  const secret = text(options, 'secret') ?? env['CERTIFY_SECRET'];
  if (secret === undefined || secret === '') throw new UsageError('--secret or CERTIFY_SECRET is required.');
  const problem = profile.refuseSecret(secret);
  if (problem !== undefined) throw new UsageError(`--secret ${problem}.`);
  const command = (name: 'restart-command' | 'storage-command') => {
    const line = text(options, name);
    if (line === undefined) return undefined;
    return async (action = '') => void (await shell(`--${name}`, line.replaceAll('{action}', action)));
  };
  const batch = text(options, 'batch');
  if (batch !== undefined && !/^(?:[2-9]|[1-9]\d|100)$/.test(batch))
    throw new UsageError('--batch must be a number from 2 to 100.');
  const patience = text(options, 'patience');
  if (patience !== undefined && !/^[1-9]\d{0,3}$/.test(patience))
    throw new UsageError('--patience must be a number of seconds from 1 to 9999.');
  return {
    url,
    secret,
    profile,
    observer,
    oldSecret: text(options, 'old-secret'),
    connectionId: text(options, 'connection'),
    patienceMs: patience === undefined ? undefined : Number(patience) * 1_000,
    signWrongly,
    restart: command('restart-command'),
    storage: command('storage-command'),
    batch: batch === undefined ? undefined : Number(batch),
  };
}

const CHALLENGE_PATH = '/.well-known/messaging-connector-certify';

/** On another machine, only who can place a text there may have it checked. @throws UsageError */
async function demandConsent({ url, secret }: ReceiverInputs, clock: Clock): Promise<void> {
  if (isLoopback(url)) return;
  const place = new URL(CHALLENGE_PATH, url).href;
  const token = createHmac('sha256', secret)
    .update(`certify ${new URL(url).host}`)
    .digest('hex')
    .slice(0, 32);
  const read = async (signal: AbortSignal): Promise<string> =>
    await (await fetch(place, { redirect: 'error', signal })).text();
  const found = await within(place, clock, read, CONSENT_MS).catch(() => '');
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  if (timingSafeEqual(digest(found.trim()), digest(token))) return;
  throw new UsageError(
    `${url} is on another machine. To show that it is yours, serve this text at ${place}: ${token}`,
  );
}

/** Checks of one kind against one target. */
export interface Suite {
  /** The letters of its levels. */
  readonly levels: readonly string[];
  /** How many checks `only` selects. */
  count(only: readonly string[] | undefined): number;
  /** Demands that the target may be checked. @throws UsageError */
  demandConsent?(): Promise<void>;
  run(how: Omit<SuiteRun, 'clock'>): Promise<Report>;
}

/** Options of level I that describe the integration. */
const OF_INTEGRATION = [
  ...['sandbox', 'workspace', 'send-command', 'pair-command', 'oauth', 'patient'],
  ...['observe', 'observe-command', 'observe-sql', 'database-url'],
];

/** The command that runs one check of an integration again. */
function repeatCommand(options: CommandOptions, id: string): string {
  const words = OF_INTEGRATION.flatMap((name) => {
    const value = options[name];
    if (value === undefined || value === false) return [];
    return value === true ? [`--${name}`] : [`--${name}`, quote(String(value))];
  });
  return ['messaging-certify', ...words, '--only', id].join(' ');
}

/** Judges an integration by what its sandbox sees. */
export function integrationSuite(
  sandbox: string,
  options: CommandOptions,
  observer: Observer | undefined,
): Suite {
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
            void (await shell(
              '--send-command',
              send.replaceAll('{to}', what.to).replaceAll('{text}', what.text),
            )),
    pair: pair === undefined ? undefined : async () => void (await shell('--pair-command', pair)),
    observer,
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
export function receiverSuite(
  url: string | undefined,
  options: CommandOptions,
  observer: Observer | undefined,
  clock: Clock = systemClock,
): Suite {
  const inputs = readInputs(url, options, readEnvironment(process.cwd(), process.env), observer);
  const tiers = readTiers(options, observer !== undefined);
  return {
    levels: tiers,
    count: (only) => selectChecks(inputs.profile, tiers, only).length,
    demandConsent: () => demandConsent(inputs, clock),
    run: (how) => runReceiverSuite({ ...how, inputs, tiers, clock }),
  };
}
