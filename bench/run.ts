import { availableParallelism } from 'node:os';
import { systemClock } from '../src/runtime/clock/system-clock.ts';
import { type BenchArguments, HELP, paceOf, readArguments } from './arguments.ts';
import { type BenchContext, logger } from './context.ts';
import { type BenchReport, MEASURES } from './measures.ts';
import { openBenchPostgres } from './postgres/bench-postgres.ts';
import { startChild } from './process/child.ts';
import { printReport } from './report/print-report.ts';

function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Runs what was asked for on one Postgres, which is gone again afterwards, whatever happens. */
async function runBenches(args: BenchArguments, signal: AbortSignal): Promise<BenchReport> {
  progress('opening Postgres');
  const postgres = await openBenchPostgres({ clock: systemClock, logger });
  const start: BenchContext['start'] = (module) => startChild({ module, signal });
  try {
    const reports: Record<string, object> = {};
    const broken: string[] = [];
    for (const name of args.benches) {
      const context = { args: { ...args, ...paceOf(args, name) }, postgres, progress, start };
      const measured = await MEASURES[name](context);
      reports[name] = measured.report;
      broken.push(...measured.broken);
    }
    const platform = `${process.platform} ${process.arch}`;
    return {
      machine: { cores: availableParallelism(), platform, node: process.versions.node },
      postgres: postgres.settings,
      paces: Object.fromEntries(args.benches.map((name) => [name, paceOf(args, name)])),
      ...reports,
      broken,
    };
  } finally {
    await postgres.close();
  }
}

async function main(): Promise<number> {
  const args = readArguments(process.argv.slice(2));
  if (args === undefined) {
    process.stdout.write(HELP);
    return 0;
  }
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort(new Error('interrupted')));
  const report = await runBenches(args, interrupted.signal);
  if (args.json) process.stdout.write(`${JSON.stringify(report)}\n`);
  else printReport(report);
  return report.broken.length === 0 ? 0 : 1;
}

process.exitCode = await main().catch((error: unknown) => {
  progress(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return 1;
});
