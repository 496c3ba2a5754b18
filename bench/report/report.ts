import { availableParallelism } from 'node:os';
import type { BenchName, Pace } from '../arguments.ts';
import type { ConsoleReport } from '../console/console-report.ts';
import type { DeliveryReport } from '../delivery/delivery-report.ts';
import type { EnginesReport } from '../engines/engines-report.ts';
import type { IngestReport } from '../ingest/ingest-report.ts';
import type { IsolationReport } from '../isolation/isolation-report.ts';
import type { PagesReport } from '../pages/pages-report.ts';
import type { PostgresSettings } from '../postgres/bench-postgres.ts';
import type { ReconcileReport } from '../reconcile/reconcile-report.ts';
import type { SendsReport } from '../sends/sends-report.ts';

/** Everything one run found, as `--json` prints it. */
export interface BenchReport {
  readonly machine: Machine;
  readonly postgres: PostgresSettings;
  /** How long and how often each benchmark measured. */
  readonly paces: Readonly<Partial<Record<BenchName, Pace>>>;
  readonly ingest?: IngestReport;
  readonly delivery?: DeliveryReport;
  readonly isolation?: IsolationReport;
  readonly reconcile?: ReconcileReport;
  readonly sends?: SendsReport;
  readonly engines?: EnginesReport;
  readonly pages?: PagesReport;
  readonly console?: ConsoleReport;
  /** What went wrong; the exit code is 1 if there is anything. */
  readonly broken: readonly string[];
}

export interface Machine {
  readonly cores: number;
  readonly platform: string;
  readonly node: string;
}

/** Describes the machine in the words that matter to a figure. */
export function describeMachine(): Machine {
  const platform = `${process.platform} ${process.arch}`;
  return { cores: availableParallelism(), platform, node: process.versions.node };
}
