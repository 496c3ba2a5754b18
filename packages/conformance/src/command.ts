import { demandWritable, readCommandLine, UsageError } from '../../../src/commands/command-line.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { readEnvironment } from '../../../src/runtime/config/read-environment.ts';
import { handleLostOutput } from '../../../src/runtime/lifecycle/lost-output.ts';
import type { Report } from '../../certify/src/report/report.ts';
import { progressLine } from '../../certify/src/report/text-report.ts';
import { abortOnSignals, complain, EXIT, print, putReport } from '../../certify/src/suite/suite-output.ts';
import { type ConformanceOptions, readConformanceOptions, SERVICE_COMMAND } from './options.ts';
import { runServiceSuite, selectChecks, UnreachableError } from './run-service-suite.ts';
import type { ServiceInputs } from './service/inputs.ts';
import { startWebhookListener } from './service/start-webhook-listener.ts';

const NOT_GRADED = 2;

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
      signal: abortOnSignals('stopping: removing what was created, then writing the report'),
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
  demandWritable(options.junit, options.html);
  const report = await gradeService(options);
  putReport(report, given.options);
  return EXIT[report.verdict];
}

handleLostOutput();
try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  complain(`${error instanceof Error ? error.message : String(error)}\n`);
  if (!(error instanceof UsageError) && !(error instanceof UnreachableError))
    complain('Nothing was checked.\n');
  process.exitCode = NOT_GRADED;
}
