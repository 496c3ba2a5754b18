import { type Ratio, ratioOf } from '../report/ratio.ts';
import { type Spread, spreadOf } from '../report/statistics.ts';
import type { PagesResult } from './measure-pages.ts';

export interface PagesReport {
  readonly rows: PagesResult['rows'];
  readonly ratios: readonly Ratio[];
  readonly pages: readonly PageFigures[];
}

export interface PageFigures {
  readonly name: string;
  readonly buffers: { readonly small: number; readonly large: number };
  readonly ms: { readonly small: Spread; readonly large: Spread };
}

/** A page of the large database may cost this much of the same page of the small one. */
const TARGET = { below: 1.5 } as const;

/** Turns what was measured into ratios, buffers first, and the figures behind them. */
export function reportPages({ rows, pages }: PagesResult): PagesReport {
  return {
    rows,
    ratios: [
      ...pages.map(({ name, small, large }) =>
        ratioOf(`${name}: buffers`, TARGET, [large.buffers], [small.buffers]),
      ),
      ...pages.map(({ name, small, large }) => ratioOf(`${name}: time`, TARGET, large.ms, small.ms)),
    ],
    pages: pages.map(({ name, small, large }) => ({
      name,
      buffers: { small: small.buffers, large: large.buffers },
      ms: { small: spreadOf(small.ms), large: spreadOf(large.ms) },
    })),
  };
}
