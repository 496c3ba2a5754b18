import { type Ratio, ratioOf } from '../report/ratio.ts';
import type { RowCheck } from '../report/row-check.ts';
import { type Spread, spreadOf } from '../report/statistics.ts';
import type { MeasuredWalk, ReconcileResult, ServiceWalks } from './measure-reconcile.ts';
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
  /** Absent where processor time cannot be read. */
  readonly cost?: { readonly connector: WalkCost; readonly bare: WalkCost };
}

/** Milliseconds of processor time for 100 messages. */
export interface WalkCost {
  readonly node: Spread;
  readonly postgres: Spread;
  readonly serviceNode: Spread;
  readonly servicePostgres: Spread;
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
      ...costOf(connector, bare),
    })),
    rows,
  };
}

function costOf(
  connector: readonly MeasuredWalk[],
  bare: readonly MeasuredWalk[],
): Pick<WalkFigures, 'cost'> {
  const costs = { connector: spreadCosts(connector), bare: spreadCosts(bare) };
  if (costs.connector === undefined || costs.bare === undefined) return {};
  return { cost: { connector: costs.connector, bare: costs.bare } };
}

function spreadCosts(walks: readonly MeasuredWalk[]): WalkCost | undefined {
  const costs = walks.flatMap(({ messages, walker, service }) =>
    walker === undefined || service === undefined ? [] : [{ walker, service, hundreds: messages / 100 }],
  );
  if (costs.length < walks.length || costs.length === 0) return undefined;
  return {
    node: spreadOf(costs.map(({ walker, hundreds }) => walker.node / hundreds)),
    postgres: spreadOf(costs.map(({ walker, hundreds }) => walker.postgres / hundreds)),
    serviceNode: spreadOf(costs.map(({ service, hundreds }) => service.node / hundreds)),
    servicePostgres: spreadOf(costs.map(({ service, hundreds }) => service.postgres / hundreds)),
  };
}

function rates(results: readonly WalkResult[]): readonly number[] {
  return results.map(({ messages, elapsedMs }) => (messages / elapsedMs) * 1_000);
}
