import { type Ratio, ratioOf } from '../report/ratio.ts';
import { type Spread, spreadOf } from '../report/statistics.ts';
import type { ConsoleResult } from './measure-console.ts';

export interface ConsoleReport {
  readonly deliveries: number;
  readonly ratios: readonly Ratio[];
  readonly firstPaintMs: { readonly ours: Spread; readonly bare: Spread };
  readonly longestTaskMs: { readonly ours: Spread; readonly bare: Spread };
  readonly rowsHeld: number;
  readonly events: number;
  readonly liveTaskMs: number;
  /** Megabytes after each quarter of the events. */
  readonly heapMb: readonly number[];
}

const PAINT_MS = 1_000;
/** A page whose tasks stay below this answers keys and the wheel at once. */
const TASK_MS = 50;
/** Events replace rows, so what the page holds stays about the same. */
const GROWTH = 1.25;

/** Turns what was measured into ratios and summaries. */
export function reportConsole(result: ConsoleResult): ConsoleReport {
  const { deliveries, firstPaintMs, longestTaskMs, rowsHeld, events, liveTaskMs, heap } = result;
  const same = (value: number) => longestTaskMs.ours.map(() => value);
  return {
    deliveries,
    ratios: [
      ratioOf(`first paint / ${PAINT_MS} ms`, { below: 1 }, firstPaintMs.ours, same(PAINT_MS)),
      ratioOf(`longest task / ${TASK_MS} ms`, { below: 1 }, longestTaskMs.ours, same(TASK_MS)),
      ratioOf('memory at the end / after a quarter', { below: GROWTH }, heap.slice(-1), heap.slice(0, 1)),
    ],
    firstPaintMs: { ours: spreadOf(firstPaintMs.ours), bare: spreadOf(firstPaintMs.bare) },
    longestTaskMs: { ours: spreadOf(longestTaskMs.ours), bare: spreadOf(longestTaskMs.bare) },
    rowsHeld,
    events,
    liveTaskMs,
    heapMb: heap.map((bytes) => bytes / 1_000_000),
  };
}
