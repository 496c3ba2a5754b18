import type { BenchName, Pace } from './arguments.ts';
import type { BenchContext } from './context.ts';
import { measureDelivery } from './delivery/measure-delivery.ts';
import { measureIngest } from './ingest/measure-ingest.ts';
import type { PostgresSettings } from './postgres/bench-postgres.ts';
import { measureReconcile } from './reconcile/measure-reconcile.ts';
import { measureSends } from './sends/measure-sends.ts';

/** Each benchmark: what it reports, and what went wrong. */
export const MEASURES = {
  ingest: measureIngest,
  delivery: measureDelivery,
  reconcile: measureReconcile,
  sends: measureSends,
  /** Loads the browser only for the one benchmark that needs it. */
  console: async (context: BenchContext) =>
    await (await import('./console/measure-console.ts')).measureConsole(context),
} satisfies Record<BenchName, (context: BenchContext) => Promise<{ report: object; broken: string[] }>>;

/** Everything one run found, as `--json` prints it. */
export type BenchReport = {
  readonly machine: { readonly cores: number; readonly platform: string; readonly node: string };
  readonly postgres: PostgresSettings;
  /** How long and how often each benchmark measured. */
  readonly paces: Readonly<Partial<Record<BenchName, Pace>>>;
  /** What went wrong; the exit code is 1 if there is anything. */
  readonly broken: readonly string[];
} & { readonly [Name in BenchName]?: Awaited<ReturnType<(typeof MEASURES)[Name]>>['report'] };
