import { type Ratio, ratioOf } from '../report/ratio.ts';
import type { RowCheck } from '../report/row-check.ts';
import { type Spread, spreadOf } from '../report/statistics.ts';
import type { ContenderName } from './contenders.ts';
import type { LoadResult } from './generate-load.ts';
import type { ContenderResult, IngestResult } from './measure-ingest.ts';

export interface IngestReport {
  readonly ratios: readonly Ratio[];
  readonly contenders: readonly ContenderFigures[];
  readonly notMeasured: Readonly<Partial<Record<ContenderName, string>>>;
}

export interface ContenderFigures {
  readonly name: ContenderName;
  readonly title: string;
  readonly eventsPerSecond: Spread;
  readonly p50Ms: Spread;
  readonly p99Ms: Spread;
  /** Events answered 2xx, warm-up counted. */
  readonly acknowledged: number;
  readonly rows: readonly RowCheck[];
  readonly broken: readonly string[];
}

/** Turns what was measured into ratios and summaries. */
export function reportIngest(result: IngestResult): IngestReport {
  const rate = (load: LoadResult): number => load.eventsPerSecond;
  const p99 = (load: LoadResult): number => load.p99Ms;
  const ratios = [
    compare(
      result,
      'verify',
      'connector / verifies, stores nothing: events per second',
      { atLeast: 0.5 },
      rate,
    ),
    compare(result, 'stripe', 'connector / stripe-sync-engine: events per second', { atLeast: 3 }, rate),
    compare(result, 'insert', 'connector / one INSERT per event: p99', { below: 1 }, p99),
  ];
  return {
    ratios: ratios.filter((ratio) => ratio !== undefined),
    contenders: result.contenders.map(summarise),
    notMeasured: result.notMeasured,
  };
}

function compare(
  { contenders }: IngestResult,
  rival: ContenderName,
  what: string,
  target: Ratio['target'],
  pick: (load: LoadResult) => number,
): Ratio | undefined {
  const ours = contenders.find(({ name }) => name === 'connector');
  const theirs = contenders.find(({ name }) => name === rival);
  if (ours === undefined || theirs === undefined) return undefined;
  return ratioOf(what, target, ours.rounds.map(pick), theirs.rounds.map(pick));
}

function summarise({ name, title, rounds, acknowledged, rows, broken }: ContenderResult): ContenderFigures {
  const over = (pick: (load: LoadResult) => number): Spread => spreadOf(rounds.map(pick));
  return {
    name,
    title,
    eventsPerSecond: over((load) => load.eventsPerSecond),
    p50Ms: over((load) => load.p50Ms),
    p99Ms: over((load) => load.p99Ms),
    acknowledged,
    rows,
    broken,
  };
}
