import { type Ratio, ratioOf } from '../report/ratio.ts';
import type { RowCheck } from '../report/row-check.ts';
import { type Spread, spreadOf } from '../report/statistics.ts';
import type { IsolationResult } from './measure-isolation.ts';
import type { PacedResult } from './two-accounts.ts';

export interface IsolationReport {
  readonly ratios: readonly Ratio[];
  readonly accounts: readonly AccountFigures[];
  /** The most connections that the black hole held at once. */
  readonly held: Spread;
  readonly rows: readonly RowCheck[];
}

export interface AccountFigures {
  readonly title: string;
  readonly p50Ms: Spread;
  readonly p99Ms: Spread;
}

const p99 = (results: readonly PacedResult[]): number[] => results.map(({ p99Ms }) => p99Ms);

function figures(title: string, results: readonly PacedResult[]): AccountFigures {
  return { title, p50Ms: spreadOf(results.map(({ p50Ms }) => p50Ms)), p99Ms: spreadOf(p99(results)) };
}

/** Turns what was measured into the ratio and summaries. */
export function reportIsolation({ alone, beside, held, rows }: IsolationResult): IsolationReport {
  return {
    ratios: [ratioOf('beside a black hole / alone: p99', { below: 1.5 }, p99(beside), p99(alone))],
    accounts: [figures('alone', alone), figures('beside an account with a black hole', beside)],
    held: spreadOf(held),
    rows,
  };
}
