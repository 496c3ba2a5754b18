import { type Ratio, ratioOf } from '../report/ratio.ts';
import type { RowCheck } from '../report/row-check.ts';
import { type Spread, spreadOf } from '../report/statistics.ts';
import type { SendsResult } from './measure-sends.ts';

export interface SendsReport {
  readonly ratios: readonly Ratio[];
  readonly contenders: readonly SendsFigures[];
  readonly rows: readonly RowCheck[];
  /** Why there are no figures with Redis. */
  readonly notMeasured?: string;
}

export interface SendsFigures {
  readonly title: string;
  readonly p50Ms: Spread;
  readonly p99Ms: Spread;
  readonly longestMs: Spread;
}

/** A send is to start in another process within this. */
const BOUND_MS = 100;

/** Turns what was measured into ratios and summaries. */
export function reportSends({ contenders, rows, notMeasured }: SendsResult): SendsReport {
  return {
    ratios: contenders.map(({ title, p99Ms }) =>
      ratioOf(
        `notified by ${title}: p99 / ${BOUND_MS} ms`,
        { below: 1 },
        p99Ms,
        p99Ms.map(() => BOUND_MS),
      ),
    ),
    contenders: contenders.map(({ title, p50Ms, p99Ms, longestMs }) => ({
      title,
      p50Ms: spreadOf(p50Ms),
      p99Ms: spreadOf(p99Ms),
      longestMs: spreadOf(longestMs),
    })),
    rows,
    ...(notMeasured === undefined ? {} : { notMeasured }),
  };
}
