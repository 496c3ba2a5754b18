import { existsSync, readFileSync, watch, writeFileSync } from 'node:fs';
import {
  type CommandOptions,
  demandWritable,
  readCommandLine,
  UsageError,
} from '../../../src/commands/command-line.ts';
import { handleLostOutput } from '../../../src/runtime/lifecycle/lost-output.ts';
import { NoSandbox } from './integration/context.ts';
import { INTEGRATION_CHECKS } from './integration/run-integration-suite.ts';
import { COMMAND, text } from './options.ts';
import type { Profile } from './receiver/profile.ts';
import { checksOf, NoReceiver } from './receiver/run-receiver-suite.ts';
import { applyBaseline, judgeBeside, readBaseline, writeBaseline } from './report/baseline.ts';
import type { Report } from './report/report.ts';
import { progressLine } from './report/text-report.ts';
import { abortOnSignals, complain, EXIT, listOf, print, putReport } from './suite/suite-output.ts';
import { integrationSuite, readObserver, readProfile, receiverSuite } from './suites.ts';

/** Prints each check with its rule, and what it needs. */
function listChecks(profile: Profile, isJson: boolean): void {
  const listed = [];
  for (const { id, tier, level, rule, needs: all = [] } of [...checksOf(profile), ...INTEGRATION_CHECKS]) {
    const needs = (all as readonly string[]).filter((need) => need !== 'loopback');
    const needed = needs.length === 0 ? '' : ` (${needs.join(', ')})`;
    if (isJson) listed.push({ id, tier, level, rule, needs });
    else print(`${tier} ${level.padEnd(6)} ${id.padEnd(32)} ${rule}${needed}\n`);
  }
  if (isJson) print(`${JSON.stringify(listed)}\n`);
}

const failedIds = ({ results }: Report): readonly string[] =>
  results.filter(({ result }) => result !== 'pass').map(({ id }) => id);

/** Waits for Enter or for a change below `path`; resolves with false for q, Ctrl-C and the end of the input. */
async function awaitRerun(path: string | undefined, signal: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const onData = (data: Buffer): void => resolve(data.toString().trim() !== 'q');
  const stop = (): void => resolve(false);
  // Explicitly: a stream that was paused once does not start by itself.
  process.stdin.on('data', onData).once('end', stop).resume();
  signal.addEventListener('abort', stop, { once: true });
  const watcher = path === undefined ? undefined : watch(path, { recursive: true }, () => resolve(true));
  const continues = await promise;
  watcher?.close();
  process.stdin.off('data', onData).off('end', stop).pause();
  return continues && !signal.aborted;
}

/** The verdict of a run against the checks that may fail; writes the file if there is none and everything else was judged. */
function judge(report: Report, options: CommandOptions): number {
  const file = text(options, 'baseline');
  if (file === undefined) return EXIT[report.verdict];
  const isNew = !existsSync(file);
  const lines = isNew ? writeBaseline(report) : readFileSync(file, 'utf8');
  const baseline = readBaseline(lines);
  const { unexpected, fixed } = applyBaseline(report, baseline);
  for (const id of unexpected) complain(`${id} fails, and is not in ${file}\n`);
  for (const id of fixed) complain(`${id} no longer fails: remove it from ${file}\n`);
  if (unexpected.length > 0 || fixed.length > 0) return EXIT.violates;
  const verdict = judgeBeside(report, baseline, { demandsAll: true });
  if (isNew && verdict === 'conforms') {
    writeFileSync(file, lines);
    complain(`${file} was written with the checks that fail now.\n`);
  } else if (isNew) complain(`${file} was not written, because this run has not judged every check.\n`);
  return EXIT[verdict];
}

async function main(words: readonly string[]): Promise<number> {
  const given = readCommandLine(COMMAND, words, print);
  if (given === null) return EXIT.conforms;
  const { options } = given;
  if (options['list'] === true) {
    listChecks(readProfile(options), options['json'] === true);
    return EXIT.conforms;
  }
  demandWritable(options['junit'], options['html']);
  const sandbox = text(options, 'sandbox');
  const { observer, close } = readObserver(options);
  try {
    const suite =
      sandbox === undefined
        ? receiverSuite(given.words['url'], options, observer)
        : integrationSuite(sandbox, options, observer);
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
      const code = judge(report, options);
      if (options['watch'] !== true || signal.aborted) return code;
      const failed = failedIds(report).filter((id) =>
        report.results.some((one) => one.id === id && one.unlock === undefined),
      );
      if (failed.length > 0) only = failed;
      progress(`\nEnter runs ${failed.length > 0 ? 'what failed' : 'them'} again, q ends.\n`);
      if (!(await awaitRerun(text(options, 'watch-path'), signal))) return code;
    }
  } finally {
    await close();
  }
}

handleLostOutput();
try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  complain(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode =
    error instanceof UsageError || error instanceof NoReceiver || error instanceof NoSandbox
      ? EXIT.unknown
      : EXIT.harness;
}
