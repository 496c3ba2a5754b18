import { type Ratio, ratioOf } from '../report/ratio.ts';
import type { RowCheck } from '../report/row-check.ts';
import { type Spread, spreadOf } from '../report/statistics.ts';
import type { ReconcileResult, ServiceWalks } from './measure-reconcile.ts';
import type { WalkResult } from './walk-commands.ts';

export interface ReconcileReport {
  readonly messages: number;
  readonly ratios: readonly Ratio[];
  readonly services: readonly WalkFigures[];
  readonly rows: readonly RowCheck[];
}

/** Messages per second over one service. */
export interface WalkFigures {
  readonly title: string;
  readonly connector: Spread;
  readonly bare: Spread;
}

/** Turns what was measured into one ratio for each service. */
export function reportReconcile({ messages, services, rows }: ReconcileResult): ReconcileReport {
  return {
    messages,
    ratios: services.map(({ title, connector, bare }: ServiceWalks) =>
      ratioOf(`connector / bare client: ${title}`, { atLeast: 0.7 }, rates(connector), rates(bare)),
    ),
    services: services.map(({ title, connector, bare }) => ({
      title,
      connector: spreadOf(rates(connector)),
      bare: spreadOf(rates(bare)),
    })),
    rows,
  };
}

function rates(results: readonly WalkResult[]): readonly number[] {
  return results.map(({ messages, elapsedMs }) => (messages / elapsedMs) * 1_000);
}
