import { closeSync, openSync, writeFileSync } from 'node:fs';
import { writeHtml } from '../conformance/report/html-report.ts';
import { writeJunit } from '../conformance/report/junit-report.ts';
import type { Report } from '../conformance/report/report.ts';
import { progressLine, writeText } from '../conformance/report/text-report.ts';
import type { ServiceInputs } from '../conformance/service/inputs.ts';
import { runServiceSuite, selectChecks, UnreachableError } from '../conformance/service/run-service-suite.ts';
import { startWebhookListener } from '../conformance/service/start-webhook-listener.ts';
import { systemClock } from '../runtime/clock/system-clock.ts';
import { readEnvironment } from '../runtime/config/read-environment.ts';
import { readCommandLine, UsageError } from './command-line.ts';
import { type ConformanceOptions, readConformanceOptions, SERVICE_COMMAND } from './conformance-options.ts';

const EXIT = { conforms: 0, violates: 1, interrupted: 130 } as const;
const NOT_GRADED = 2;
/**
 * npm forwards the Ctrl-C that the terminal has already sent to every process: one key press, two signals.
 */
const ECHO_MS = 200;

const print = (text: string): void => void process.stdout.write(text);
const complain = (text: string): void => void process.stderr.write(text);

/** Aborts on the first Ctrl-C, so that a report is written; the second one exits at once. */
function abortOnSignals(): AbortSignal {
  const over = new AbortController();
  const began = { at: 0 };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      const now = systemClock.elapsed();
      if (over.signal.aborted && now - began.at > ECHO_MS) process.exit(EXIT.interrupted);
      if (over.signal.aborted) return;
      began.at = now;
      complain('\nstopping: removing what was created, then writing the report\n');
      over.abort();
    });
  }
  return over.signal;
}

/** Fails now for a file that cannot be written, instead of after the run. */
function demandWritable(path: string | undefined): void {
  if (path === undefined) return;
  try {
    closeSync(openSync(path, 'a'));
  } catch (error) {
    throw new UsageError(`${path} cannot be written: ${(error as NodeJS.ErrnoException).code}.`);
  }
}

async function gradeService(options: ConformanceOptions): Promise<Report> {
  const { listen, inputs, only, timeoutMs, paceMs } = options;
  if (selectChecks(only).length === 0) throw new UsageError('--only matches no check.');
  const clock = systemClock;
  const progress = options.json ? complain : print;
  if (inputs.profile === 'full') progress(`${announce(inputs)}\n`);
  const listener =
    listen === undefined ? undefined : await startWebhookListener({ ...listen, clock }).catch(refuseListener);
  try {
    return await runServiceSuite({
      inputs,
      clock,
      listener,
      only,
      timeoutMs,
      paceMs,
      signal: abortOnSignals(),
      onResult: (result) => {
        // Checks that need further options are listed once, at the end.
        if (result.unlock === undefined) progress(`${progressLine(result)}\n`);
      },
    });
  } finally {
    await listener?.close();
  }
}

/** Prints what the run will change before it starts. */
function announce({ recipient, webhookUrl }: ServiceInputs): string {
  const sends =
    recipient === undefined
      ? 'sends nothing, because no --recipient is given'
      : `sends about ten messages to ${recipient}`;
  const webhook = webhookUrl === undefined ? '' : '; replaces the webhook of the account';
  return `full: creates about ten connections and deletes each of them again; ${sends}${webhook}. Ctrl-C removes what was created.`;
}

function refuseListener(error: unknown): never {
  throw new UsageError(`--webhook-listen: ${error instanceof Error ? error.message : String(error)}.`);
}

async function main(words: readonly string[]): Promise<number> {
  const [suite, ...rest] = words[0] === '--help' ? ['service', '--help'] : words;
  if (suite !== 'service') throw new UsageError('The first argument must be the suite: service. See --help.');
  const given = readCommandLine(SERVICE_COMMAND, rest, print);
  if (given === null) return EXIT.conforms;
  const options = readConformanceOptions(given.options, readEnvironment(process.cwd(), process.env));
  demandWritable(options.junit);
  demandWritable(options.html);
  const report = await gradeService(options);
  if (options.junit !== undefined) writeFileSync(options.junit, writeJunit(report));
  if (options.html !== undefined) writeFileSync(options.html, writeHtml(report));
  print(options.json ? `${JSON.stringify(report)}\n` : `\n${writeText(report)}`);
  return EXIT[report.verdict];
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  complain(`${error instanceof Error ? error.message : String(error)}\n`);
  if (!(error instanceof UsageError) && !(error instanceof UnreachableError))
    complain('Nothing was checked.\n');
  process.exitCode = NOT_GRADED;
}
