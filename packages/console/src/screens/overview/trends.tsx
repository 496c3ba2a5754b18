import { Link } from '@tanstack/react-router';
import type { Statistics, StatisticsPoint } from '../../../../../src/contract/connector/statistics.ts';
import { useReading } from '../../data/read.ts';
import { type Range, refusedOf, useStatistics } from '../../data/statistics.ts';
import { ReadSection } from '../../ui/as-of.tsx';
import { Figure } from '../../ui/figure.tsx';
import { showDuration } from '../../ui/times.tsx';
import { Spark } from './spark.tsx';
import { countRefused, latencyOf, type Trend, trendOf } from './trend.ts';

const showNumber = (value: number): string => Math.round(value).toLocaleString('en');

const RECENT_MS = 120_000;

/** A level as it was just seen: `none` if nothing has it, as without consumers; `unknown` if nobody has looked. */
function lastOf(
  { at, stepSeconds, points }: Statistics,
  read: (point: StatisticsPoint) => number | null,
  show = showNumber,
): string {
  const since = Date.parse(at) - Math.max(RECENT_MS, stepSeconds * 1_000);
  const recent = points.filter((point) => Date.parse(point.at) >= since);
  const level = recent.map(read).findLast((value) => value !== null) ?? null;
  if (level !== null) return show(level);
  return recent.some(({ sends }) => sends.waiting !== null) ? 'none' : 'unknown';
}

interface Shown {
  readonly name: string;
  readonly to: '/deliveries' | '/sync';
  readonly read: Parameters<typeof trendOf>[1];
  /** In place of the sum. */
  readonly value?: (statistics: Statistics) => string;
  readonly words: (trend: Trend, statistics: Statistics) => string;
}

const FIGURES: readonly Shown[] = [
  {
    name: 'Webhooks',
    to: '/deliveries',
    read: (point) => ({ good: point.webhooks.received, bad: countRefused(point) }),
    words: ({ bad }, statistics) =>
      bad === 0
        ? 'received, none refused'
        : `received, ${showNumber(bad)} refused: ${refusedOf(statistics)
            .map(([reason, count]) => `${showNumber(count)} ${reason.replaceAll('_', ' ')}`)
            .slice(0, 3)
            .join(', ')}`,
  },
  {
    name: 'Polls',
    to: '/sync',
    read: ({ polls }) => ({ good: polls.good, bad: polls.failed }),
    words: ({ bad }) => (bad === 0 ? 'succeeded, none failed' : `succeeded, ${showNumber(bad)} failed`),
  },
  {
    name: 'Repaired',
    to: '/sync',
    read: ({ polls }) => ({ good: polls.repaired }),
    words: () => 'found by polling, lost by webhooks',
  },
  {
    name: 'Sends',
    to: '/sync',
    read: ({ sends }) => ({ good: sends.sent, bad: sends.failed }),
    words: ({ bad }, statistics) =>
      `accepted, ${showNumber(bad)} failed, ${lastOf(statistics, ({ sends }) => sends.waiting)} waiting`,
  },
  {
    name: 'Handled',
    to: '/sync',
    read: ({ consumers }) => ({ good: consumers.taken, bad: consumers.failed }),
    words({ bad }, statistics) {
      const latency = latencyOf(statistics);
      const after = latency === null ? '' : ` after ${showDuration(latency * 1_000)}`;
      return `calls taken${after}, ${showNumber(bad)} failed`;
    },
  },
  {
    name: 'Lag',
    to: '/sync',
    read: ({ consumers }) => ({ good: consumers.lagSeconds }),
    value: (statistics) =>
      lastOf(
        statistics,
        ({ consumers }) => consumers.lagSeconds,
        (seconds) => showDuration(seconds * 1_000),
      ),
    words: (_, statistics) =>
      `the longest wait of a change, ${lastOf(statistics, ({ consumers }) => consumers.parked)} parked`,
  },
  {
    name: 'Dead letters',
    to: '/sync',
    read: ({ consumers }) => ({ good: 0, bad: consumers.deadLetters ?? 0 }),
    value: (statistics) => lastOf(statistics, ({ consumers }) => consumers.deadLetters),
    words: () => 'set aside',
  },
];

/** What the connector has counted over the range, figure by figure. */
export function Trends({ range }: { readonly range: Range }) {
  const { data, error, ...figure } = useStatistics(range);
  const { isCurrent } = useReading([figure]);
  return (
    <ReadSection label="Figures" title={`Figures of the last ${range}`} figures={[figure]} error={error}>
      {data === undefined ? null : (
        <ul className="tiles" data-current={isCurrent}>
          {FIGURES.map(({ name, to, read, value, words }) => {
            const trend = trendOf(data, read);
            return (
              <li key={name} className="card" data-bad={trend.bad > 0}>
                <Link to={to} search={{}}>
                  <Figure name={name} value={value?.(data) ?? showNumber(trend.good)}>
                    {words(trend, data)}
                  </Figure>
                </Link>
                <Spark columns={trend.columns} />
              </li>
            );
          })}
        </ul>
      )}
    </ReadSection>
  );
}
