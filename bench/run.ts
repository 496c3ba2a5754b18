import { systemClock } from '../src/runtime/clock/system-clock.ts';
import { createLogger } from '../src/runtime/logger/logger.ts';
import { type BenchArguments, type BenchName, HELP, paceOf, readArguments } from './arguments.ts';
import { reportConsole } from './console/console-report.ts';
import type { ConsoleResult } from './console/measure-console.ts';
import { type BenchContext, createContext } from './context.ts';
import { reportDelivery } from './delivery/delivery-report.ts';
import { measureDelivery } from './delivery/measure-delivery.ts';
import { reportEngines } from './engines/engines-report.ts';
import { measureEngines } from './engines/measure-engines.ts';
import { reportIngest } from './ingest/ingest-report.ts';
import { measureIngest } from './ingest/measure-ingest.ts';
import { reportIsolation } from './isolation/isolation-report.ts';
import { measureIsolation } from './isolation/measure-isolation.ts';
import type { PagesResult } from './pages/measure-pages.ts';
import { reportPages } from './pages/pages-report.ts';
import { openBenchPostgres } from './postgres/bench-postgres.ts';
import { measureReconcile } from './reconcile/measure-reconcile.ts';
import { reportReconcile } from './reconcile/reconcile-report.ts';
import { type BenchReport, describeMachine } from './report/report.ts';
import { writeReport } from './report/write-table.ts';
import { measureSends } from './sends/measure-sends.ts';
import { reportSends } from './sends/sends-report.ts';

function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Loads the service only for the one benchmark that runs parts of it in this process. */
async function loadAndMeasurePages(context: BenchContext): Promise<PagesResult> {
  const { measurePages } = await import('./pages/measure-pages.ts');
  return await measurePages(context);
}

/** Loads the browser only for the one benchmark that needs it. */
async function loadAndMeasureConsole(context: BenchContext): Promise<ConsoleResult> {
  const { measureConsole } = await import('./console/measure-console.ts');
  return await measureConsole(context);
}

/** Runs what was asked for on one Postgres, which is gone again afterwards, whatever happens. */
async function runBenches(args: BenchArguments, signal: AbortSignal): Promise<BenchReport> {
  const logger = createLogger({ level: 'warn', name: 'bench', destination: 'stderr' });
  progress('opening Postgres');
  const postgres = await openBenchPostgres({ clock: systemClock, logger });
  try {
    const run = async <T>(name: BenchName, measure: (context: BenchContext) => Promise<T>) =>
      args.benches.includes(name)
        ? await measure(createContext({ ...args, ...paceOf(args, name) }, postgres, progress, signal))
        : undefined;
    const ingested = await run('ingest', measureIngest);
    const ingest = ingested === undefined ? undefined : reportIngest(ingested);
    const delivered = await run('delivery', measureDelivery);
    const delivery = delivered === undefined ? undefined : reportDelivery(delivered);
    const isolation = await run('isolation', measureIsolation);
    const reconcile = await run('reconcile', measureReconcile);
    const sends = await run('sends', measureSends);
    const engines = await run('postgres', measureEngines);
    const pages = await run('pages', loadAndMeasurePages);
    const page = await run('console', loadAndMeasureConsole);
    const contenders = [...(ingest?.contenders ?? []), ...(delivery?.contenders ?? [])];
    return {
      machine: describeMachine(),
      postgres: postgres.settings,
      paces: Object.fromEntries(args.benches.map((name) => [name, paceOf(args, name)])),
      ...(ingest === undefined ? {} : { ingest }),
      ...(delivery === undefined ? {} : { delivery }),
      ...(isolation === undefined ? {} : { isolation: reportIsolation(isolation) }),
      ...(reconcile === undefined ? {} : { reconcile: reportReconcile(reconcile) }),
      ...(sends === undefined ? {} : { sends: reportSends(sends) }),
      ...(engines === undefined ? {} : { engines: reportEngines(engines) }),
      ...(pages === undefined ? {} : { pages: reportPages(pages) }),
      ...(page === undefined ? {} : { console: reportConsole(page) }),
      broken: [
        ...contenders.flatMap(({ name, broken }) => broken.map((reason) => `${name}: ${reason}`)),
        ...(isolation?.broken ?? []),
        ...(reconcile?.broken ?? []),
        ...(sends?.broken ?? []),
        ...(engines?.broken ?? []),
        ...(pages?.broken ?? []),
        ...(page?.broken ?? []),
      ],
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
  process.stdout.write(args.json ? `${JSON.stringify(report)}\n` : writeReport(report));
  return report.broken.length === 0 ? 0 : 1;
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    progress(error instanceof Error ? (error.stack ?? error.message) : String(error));
    process.exitCode = 1;
  },
);
