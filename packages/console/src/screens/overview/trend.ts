import type { Statistics, StatisticsPoint } from '../../../../../src/contract/connector/statistics.ts';

/** One column of a sparkline: what went well and what did not. */
export interface Column {
  readonly good: number;
  readonly bad: number;
}

/** One figure over time, oldest first: null where nobody counted. */
export interface Trend {
  readonly columns: readonly (Column | null)[];
  readonly good: number;
  readonly bad: number;
}

/** A figure over all slots of a range. Levels add up as well; of them only the columns say something. */
export function trendOf(
  { from, stepSeconds, at, points }: Statistics,
  read: (point: StatisticsPoint) => { readonly good?: number | null; readonly bad?: number },
): Trend {
  const first = Date.parse(from);
  const stepMs = stepSeconds * 1_000;
  const columns: (Column | null)[] = new Array(Math.floor((Date.parse(at) - first) / stepMs) + 1).fill(null);
  for (const point of points) {
    const { good = 0, bad = 0 } = read(point);
    if (good !== null) columns[Math.round((Date.parse(point.at) - first) / stepMs)] = { good, bad };
  }
  const sum = (key: keyof Column): number => columns.reduce((all, column) => all + (column?.[key] ?? 0), 0);
  return { columns, good: sum('good'), bad: sum('bad') };
}

/** How many requests of a slot were refused. */
export const countRefused = ({ webhooks: { refused } }: StatisticsPoint): number =>
  Object.values(refused).reduce((sum, count) => sum + count, 0);

/** The mean time until a consumer took a change, over a range; null if none did. */
export function latencyOf({ points }: Pick<Statistics, 'points'>): number | null {
  let [seconds, calls] = [0, 0];
  for (const { consumers } of points) {
    seconds += (consumers.latencySeconds ?? 0) * consumers.taken;
    calls += consumers.taken;
  }
  return calls === 0 ? null : seconds / calls;
}
