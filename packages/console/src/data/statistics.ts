import type { Statistics } from '../../../../src/contract/connector/statistics.ts';
import { connector } from './client.ts';
import { mode } from './live.ts';
import { useRead } from './read.ts';

export type Range = 'hour' | 'day';

/** What the connector counted over a range. */
export const useStatistics = (range: Range) =>
  useRead({
    queryKey: ['statistics', range],
    queryFn: () => connector('GET', '/v1/statistics', { query: { range } }),
    enabled: mode().connector,
  });

/** The refused requests of a range by reason, the most frequent first. */
export function refusedOf({ points }: Pick<Statistics, 'points'>): readonly (readonly [string, number])[] {
  const sums = new Map<string, number>();
  for (const { webhooks } of points)
    for (const [reason, count] of Object.entries(webhooks.refused))
      sums.set(reason, (sums.get(reason) ?? 0) + count);
  return [...sums].toSorted(([, a], [, b]) => b - a);
}
