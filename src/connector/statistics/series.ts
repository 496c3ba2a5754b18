import type { Metrics } from '../../runtime/metrics/metrics.ts';

/** One figure over time, read from a metric of this process. */
interface Series {
  readonly metric: string;
  /** Only samples with these values of a label are added up. */
  readonly only?: readonly [label: string, ...values: string[]];
  /** A series of its own for each value of this label: `refused.stale_timestamp`. */
  readonly by?: string;
  /**
   * A level, of which the highest of a slot counts: that of all samples together, or of the highest one. Otherwise what was
   * counted since the last reading is added.
   */
  readonly level?: 'sum' | 'highest';
}

/** Figures that are kept over time. Levels are those of all processes, so any of them may read one. */
const SERIES = {
  received: { metric: 'connector_webhook_deliveries_total' },
  unchanged: { metric: 'connector_webhook_deliveries_total', only: ['outcome', 'unchanged'] },
  refused: { metric: 'connector_webhook_refused_total', by: 'reason' },
  pollsGood: { metric: 'connector_poll_seconds_count', only: ['outcome', 'good'] },
  pollsFailed: { metric: 'connector_poll_seconds_count', only: ['outcome', 'failed'] },
  repairedMessages: { metric: 'connector_poll_repaired_total', only: ['what', 'message'] },
  repairedStatuses: { metric: 'connector_poll_repaired_total', only: ['what', 'status'] },
  sent: { metric: 'connector_sends_finished_total', only: ['state', 'sent', 'delivered_not_stored'] },
  sendsFailed: { metric: 'connector_sends_finished_total', only: ['state', 'rejected', 'unknown'] },
  taken: { metric: 'connector_consumer_calls_total', only: ['result', 'taken'] },
  notTaken: {
    metric: 'connector_consumer_calls_total',
    only: ['result', 'failed', 'late', 'unavailable', 'disabled'],
  },
  latencySeconds: { metric: 'connector_consumer_latency_seconds_sum' },
  lastSeq: { metric: 'connector_feed_last_seq', level: 'sum' },
  sendsWaiting: { metric: 'connector_sends_waiting', level: 'sum' },
  changesWaiting: { metric: 'connector_consumer_waiting', level: 'sum' },
  lagSeconds: { metric: 'connector_consumer_oldest_waiting_seconds', level: 'highest' },
  parked: { metric: 'connector_consumer_parked', level: 'sum' },
  deadLetters: { metric: 'connector_consumer_dead_letters', level: 'sum' },
} as const satisfies Readonly<Record<string, Series>>;

export type SeriesName = keyof typeof SERIES;

/** The names of the levels. */
export const LEVELS: readonly string[] = Object.entries(SERIES).flatMap(([name, series]) =>
  'level' in series ? name : [],
);

/** The present value of each series of this process. */
export async function readSeries(metrics: Metrics): Promise<ReadonlyMap<string, number>> {
  const values = new Map<string, number>();
  const read = async (name: string, { metric, only, by, level }: Series): Promise<void> => {
    const [label = '', ...allowed] = only ?? [];
    for (const { labels, value } of await metrics.read(metric)) {
      if (only !== undefined && !allowed.includes(String(labels[label]))) continue;
      const key = by === undefined ? name : `${name}.${labels[by]}`;
      const before = values.get(key) ?? 0;
      values.set(key, level === 'highest' ? Math.max(before, value) : before + value);
    }
  };
  // At the same time, so that levels from one statement share it.
  await Promise.all(Object.entries(SERIES).map(([name, series]) => read(name, series)));
  return values;
}
