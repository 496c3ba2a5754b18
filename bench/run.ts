import { systemClock } from '../src/runtime/clock/system-clock.ts';
import { createLogger } from '../src/runtime/logger/logger.ts';
import { type BenchArguments, HELP, readArguments } from './arguments.ts';
import { createContext } from './context.ts';
import { reportDelivery } from './delivery/delivery-report.ts';
import { measureDelivery } from './delivery/measure-delivery.ts';
import { reportIngest } from './ingest/ingest-report.ts';
import { measureIngest } from './ingest/measure-ingest.ts';
import { openBenchPostgres } from './postgres/bench-postgres.ts';
import { type BenchReport, describeMachine } from './report/report.ts';
import { writeReport } from './report/write-table.ts';

function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Runs what was asked for on one Postgres, which is gone again afterwards, whatever happens. */
async function runBenches(args: BenchArguments, signal: AbortSignal): Promise<BenchReport> {
  const logger = createLogger({ level: 'warn', name: 'bench', destination: 'stderr' });
  progress('opening Postgres');
  const postgres = await openBenchPostgres({ clock: systemClock, logger });
  const context = createContext(args, postgres, progress, signal);
  try {
    const ingest = args.benches.includes('ingest') ? reportIngest(await measureIngest(context)) : undefined;
    const delivery = args.benches.includes('delivery')
      ? reportDelivery(await measureDelivery(context))
      : undefined;
    const contenders = [...(ingest?.contenders ?? []), ...(delivery?.contenders ?? [])];
    return {
      machine: describeMachine(),
      postgres: postgres.settings,
      seconds: args.seconds,
      rounds: args.rounds,
      ...(ingest === undefined ? {} : { ingest }),
      ...(delivery === undefined ? {} : { delivery }),
      broken: contenders.flatMap(({ name, broken }) => broken.map((reason) => `${name}: ${reason}`)),
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
