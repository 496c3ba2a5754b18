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
  readonly bareP50Ms: Spread;
  readonly bareP99Ms: Spread;
  readonly p50Ms: Spread;
  readonly p99Ms: Spread;
  readonly longestMs: Spread;
}

/** A send is to start in another process within this. */
const BOUND_MS = 100;
/** A send takes three commits and the signal takes none: the commit of the send, the lease and the attempt. */
const BELOW_BARE = 50;
/** Without notifications the last send has just missed a look. */
const BELOW_LOOK = 1.5;

/** Turns what was measured into ratios and summaries. */
export function reportSends({ contenders, rows, notMeasured }: SendsResult): SendsReport {
  return {
    ratios: contenders.flatMap(({ title, looksEveryMs, p50Ms, p99Ms, bareP50Ms }) => {
      const what = `notified by ${title}`;
      const boundMs = looksEveryMs ?? BOUND_MS;
      const bound = p99Ms.map(() => boundMs);
      const overBound = ratioOf(
        `${what}: p99 / ${boundMs} ms`,
        { below: looksEveryMs === undefined ? 1 : BELOW_LOOK },
        p99Ms,
        bound,
      );
      const overBare = ratioOf(`${what}: p50 / bare`, { below: BELOW_BARE }, p50Ms, bareP50Ms);
      return looksEveryMs === undefined ? [overBound, overBare] : [overBound];
    }),
    contenders: contenders.map(({ title, p50Ms, p99Ms, longestMs, bareP50Ms, bareP99Ms }) => ({
      title,
      bareP50Ms: spreadOf(bareP50Ms),
      bareP99Ms: spreadOf(bareP99Ms),
      p50Ms: spreadOf(p50Ms),
      p99Ms: spreadOf(p99Ms),
      longestMs: spreadOf(longestMs),
    })),
    rows,
    ...(notMeasured === undefined ? {} : { notMeasured }),
  };
}
