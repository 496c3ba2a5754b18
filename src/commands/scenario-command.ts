import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLogger } from '../runtime/logger/logger.ts';
import { type OwnReceiver, startRelay } from '../scenario/own-receiver.ts';
import { type Replayed, replay, type Target } from '../scenario/replay.ts';
import { writeDifferences, writeReplayJunit } from '../scenario/report-replay.ts';
import { readScenario, type Scenario, ScenarioError, writeScenario } from '../scenario/scenario.ts';
import { shrink } from '../scenario/shrink.ts';
import { callPortAt } from './call-sandbox.ts';
import { demandWritable, UsageError } from './command-line.ts';
import { COMMANDS } from './commands.ts';
import { readLocalSecrets } from './local-secrets.ts';
import { portsFrom } from './ports.ts';
import { type CommandContext, runCommand } from './run-command.ts';
import { originOf } from './run-sandbox.ts';
import { openServerDatabase } from './server-database.ts';

const COMMAND = {
  name: 'scenario',
  words: '<action> <file>',
  summary: `${COMMANDS.scenario} <action> is replay or shrink; <file> was written by "sandbox record".`,
  options: {
    out: {
      type: 'string',
      value: 'FILE',
      description: 'shrink: write the result to this file (default: standard output)',
    },
    url: {
      type: 'string',
      value: 'URL',
      description:
        'replay, shrink: in the sandbox at this address, which is RESET (default: a separate loop, on free ports)',
    },
    'data-dir': {
      type: 'string',
      value: 'DIR',
      description: 'folder for the data of its own loop (default .data/scenario)',
    },
    receiver: {
      type: 'string',
      value: 'URL',
      description: 'replay: also deliver to your own receiver at this address; not with --url',
    },
    secret: {
      type: 'string',
      value: 'SECRET',
      description: 'replay: the secret that your receiver checks signatures with (default: CERTIFY_SECRET)',
    },
    json: { type: 'boolean', description: 'replay: print the differences as one JSON line' },
    junit: { type: 'string', value: 'FILE', description: 'replay: write the result as JUnit XML' },
  },
  more: '\nExits with 0 if a replay shows no difference, and with 1 if it does.\n',
} as const;

/** A replay of many need not wait as long as a single one. */
const SHRINK_PATIENCE_MS = 1_000;
const READ_EVERY_MS = 100;
const MAX_READS = 300;

const ACTIONS = { replay: runReplay, shrink: runShrink } as const;
/** Options of the other action. */
const STRAY = { replay: ['out'], shrink: ['receiver', 'secret', 'json', 'junit'] } as const;

await runCommand(COMMAND, async (context) => {
  const { action = '', file = '' } = context.words;
  if (!Object.hasOwn(ACTIONS, action)) {
    throw new UsageError(`"${action}" is no action; use replay or shrink. See --help.`);
  }
  const stray = STRAY[action as keyof typeof STRAY].find((name) => context.options[name] !== undefined);
  if (stray !== undefined) throw new UsageError(`--${stray} is not an option of ${action}. See --help.`);
  const scenario = readFile(file);
  demandWritable(context.options['junit'], context.options['out']);
  if (scenario.causes.length === 0)
    throw new UsageError(
      `${file} has no causes, so nothing can be repeated. Record it after a call of the sandbox.`,
    );
  await ACTIONS[action as keyof typeof ACTIONS](scenario, context);
});

function readFile(file: string): Scenario {
  try {
    return readScenario(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error instanceof ScenarioError) throw new UsageError(`${file}: ${error.message}`);
    throw new UsageError(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code}.`);
  }
}

/** Progress goes to standard error, so that standard output is only the result. */
function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

/** The receiver of `--receiver`. @throws UsageError */
function readReceiver({ options, env }: CommandContext): OwnReceiver | undefined {
  const url = options['receiver'];
  if (url === undefined) return undefined;
  if (options['url'] !== undefined)
    throw new UsageError('--receiver takes part in a loop of its own: leave out --url.');
  if (!/^https?:\/\//.test(String(url)) || !URL.canParse(String(url)))
    throw new UsageError('--receiver must be an address such as http://127.0.0.1:3000/webhooks.');
  const secret = String(options['secret'] ?? env['CERTIFY_SECRET'] ?? '');
  if (secret === '')
    throw new UsageError('The secret of your receiver is missing: pass --secret, or set CERTIFY_SECRET.');
  return { url: String(url), secret };
}

async function runReplay(scenario: Scenario, context: CommandContext): Promise<void> {
  const { options, print } = context;
  const own = readReceiver(context);
  const relay = own && (await startRelay(own));
  const { differences } = await withTarget(context, async (target, signal) => {
    let done = 0;
    return await replay(scenario, target, {
      signal,
      onReady: relay?.attach,
      onCause: () => progress(`cause ${++done} of ${scenario.causes.length}`),
    });
  }).finally(() => relay?.close());
  progress('');
  const { junit } = options;
  if (typeof junit === 'string') writeFileSync(junit, writeReplayJunit(scenario, differences));
  print(options['json'] ? `${JSON.stringify({ differences })}\n` : writeDifferences(scenario, differences));
  if (differences.length > 0) process.exitCode = 1;
}

async function runShrink(scenario: Scenario, context: CommandContext): Promise<void> {
  const small = await withTarget(context, (target, signal) =>
    shrink(scenario, (one): Promise<Replayed> => replay(one, target, { patienceMs: SHRINK_PATIENCE_MS }), {
      signal,
      onTry: ({ tries, causes }) => progress(`replay ${tries}: ${causes} causes`),
    }),
  );
  progress('');
  if (small === null)
    throw new Error(
      'Two replays in succession show no same difference between the connector and the service, so there is nothing to shrink. What "replay" compares with the recording cannot be shrunk: fewer causes lead to another state.',
    );
  const text = writeScenario(small);
  const { out } = context.options;
  if (typeof out === 'string') writeFileSync(out, text);
  else context.print(text);
  const of = `${small.causes.length} of ${scenario.causes.length} causes are left`;
  process.stderr.write(`${of}. Replay them with: messaging-connector scenario replay FILE\n`);
}

/** Runs `work` in the sandbox of `--url`, or in a new loop. Ctrl-C ends it after the current replay. */
async function withTarget<Result>(
  { options, clock }: CommandContext,
  work: (target: Target, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const over = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => over.abort(new Error('It was stopped.')));
  }
  const sleep = (ms: number): Promise<void> => clock.sleep(ms);
  const { url } = options;
  const folder = String(options['data-dir'] ?? '.data/scenario');
  if (typeof url === 'string') {
    const call = callPortAt(originOf(url));
    return await work({ call, sleep, settle: () => awaitDeliveries(call, sleep) }, over.signal);
  }
  const logger = createLogger({ level: 'silent', name: 'scenario' });
  // Never the database of a setting: a replay empties it.
  const server = await openServerDatabase({ url: undefined, dataDir: folder, clock, logger });
  process.stderr.write(`database    ${server.note}\n`);
  try {
    const { startLoop } = await import('./loop.ts');
    const loop = await startLoop({
      connectorDatabaseUrl: server.url,
      platformDatabaseUrl: server.url,
      ownsConnectorData: true,
      ports: portsFrom(0),
      secrets: readLocalSecrets(join(folder, 'secrets.json')),
      sendScale: 0,
      reconcileIntervalMs: 60_000,
      inboxRetentionDays: 30,
      onTakenOver: () => process.exit(1),
      clock,
      logger,
    });
    try {
      const call = callPortAt(loop.info().sandboxUrl);
      return await work({ call, sleep, settle: () => loop.settle() }, over.signal);
    } finally {
      await loop.close();
    }
  } finally {
    await server.close();
  }
}

/** From outside, a sandbox is at rest when no delivery is pending that is not held. */
async function awaitDeliveries(call: Target['call'], sleep: (ms: number) => Promise<void>): Promise<void> {
  for (let reads = 0; reads < MAX_READS; reads += 1) {
    const counts = (await call({ method: 'GET', path: '/sandbox/v1/deliveries/counts' })) as {
      readonly pending: number;
      readonly held: number;
    };
    if (counts.pending <= counts.held) return;
    await sleep(READ_EVERY_MS);
  }
}
