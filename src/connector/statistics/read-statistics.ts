import { and, asc, eq, gte } from 'drizzle-orm';
import type { STATISTICS_RANGES, Statistics, StatisticsPoint } from '../../contract/connector/statistics.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { statistics } from '../db/schema.ts';
import { KEPT } from './keep-statistics.ts';
import type { SeriesName } from './series.ts';

type Slot = ReadonlyMap<string, number>;

const REFUSED = 'refused.' satisfies `${SeriesName}.`;

/** The statistics of a range that ends now, for `GET /v1/statistics`. Throws as `query` does. */
export async function readStatistics(
  db: Queryable,
  range: (typeof STATISTICS_RANGES)[number],
  now: number,
): Promise<Statistics> {
  const { stepMs, slots } = KEPT[range];
  const from = now - (now % stepMs) - (slots - 1) * stepMs;
  const { step, slot, series, value } = statistics;
  const rows = await orm(db)
    .select({ slot, series, value })
    .from(statistics)
    .where(and(eq(step, stepMs), gte(slot, from - stepMs)))
    .orderBy(asc(slot));
  const points: StatisticsPoint[] = [];
  let lastSeq: number | undefined;
  for (const [at, counted] of Map.groupBy(rows, (row) => row.slot)) {
    const values = new Map(counted.map((row) => [row.series, row.value]));
    if (at >= from) points.push(pointOf(at, values, lastSeq));
    lastSeq = values.get('lastSeq' satisfies SeriesName);
  }
  return { at: toIso(now), stepSeconds: stepMs / 1_000, from: toIso(from), points };
}

function pointOf(at: number, values: Slot, seqBefore: number | undefined): StatisticsPoint {
  const count = (name: SeriesName): number => values.get(name) ?? 0;
  const level = (name: SeriesName): number | null => values.get(name) ?? null;
  const [taken, lastSeq] = [count('taken'), level('lastSeq')];
  const refused = [...values].flatMap(([name, value]) =>
    name.startsWith(REFUSED) ? [[name.slice(REFUSED.length), value] as const] : [],
  );
  return {
    at: toIso(at),
    webhooks: {
      received: count('received'),
      unchanged: count('unchanged'),
      refused: Object.fromEntries(refused),
    },
    polls: {
      good: count('pollsGood'),
      failed: count('pollsFailed'),
      repaired: count('repairedMessages') + count('repairedStatuses'),
    },
    sends: { sent: count('sent'), failed: count('sendsFailed'), waiting: level('sendsWaiting') },
    // Numbers jump by multiples of 2^32.
    changes: lastSeq === null || seqBefore === undefined ? null : Math.max(0, lastSeq - seqBefore) % 2 ** 32,
    consumers: {
      taken,
      failed: count('notTaken'),
      latencySeconds: taken === 0 ? null : count('latencySeconds') / taken,
      waiting: level('changesWaiting'),
      lagSeconds: level('lagSeconds'),
      parked: level('parked'),
      deadLetters: level('deadLetters'),
    },
  };
}
