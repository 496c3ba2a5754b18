import type { Clock } from '../../runtime/clock/clock.ts';
import { type Repeat, repeat } from '../../runtime/clock/repeat.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { Metrics } from '../../runtime/metrics/metrics.ts';
import { LEVELS, readSeries } from './series.ts';

/** How statistics are kept: the length of a slot, and how many of them. */
export const KEPT = {
  hour: { stepMs: 60_000, slots: 60 },
  day: { stepMs: 15 * 60_000, slots: 96 },
} as const;

const EVERY_MS = 5_000;
const LONGEST_QUERY_MS = 2_000;

/**
 * The slot before the first one stays: what has grown is the difference to it. What is old is deleted once a minute,
 * because that search begins at the old end of the index.
 */
const ADD = `
WITH kept (step, slots) AS (VALUES ${Object.values(KEPT)
  .map(({ stepMs, slots }) => `(${stepMs}::bigint, ${slots})`)
  .join(', ')}),
pruned AS (
  DELETE FROM connector.statistics s USING kept WHERE $5::boolean AND s.step = kept.step
     AND s.slot < $1::bigint - $1::bigint % kept.step - kept.step * kept.slots
)
INSERT INTO connector.statistics AS s (step, slot, series, value)
SELECT kept.step, $1::bigint - $1::bigint % kept.step, a.series, a.value
  FROM kept, unnest($2::text[], $3::float8[]) AS a (series, value) ORDER BY 1, 3
ON CONFLICT (step, slot, series) DO UPDATE
   SET value = CASE WHEN s.series = ANY($4::text[]) THEN greatest(s.value, excluded.value)
                    ELSE s.value + excluded.value END`;

/**
 * Adds what the metrics of this process have counted to the statistics of all processes, every 5 s: nothing is counted
 * twice, and nothing waits for it. What a killed process had not added, up to 5 s, is lost. While the database is away
 * counts wait, and belong to the time of its return; a lost answer of the database may count them twice.
 */
export function keepStatistics(options: {
  readonly database: Queryable;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}): Repeat {
  const { database, clock, logger, metrics } = options;
  let added: ReadonlyMap<string, number> = new Map();
  let prunedAt = Number.NEGATIVE_INFINITY;

  async function add(): Promise<void> {
    const counted = await readSeries(metrics);
    const rows = [...counted].flatMap(([series, value]) => {
      const isLevel = LEVELS.includes(series);
      const more = isLevel ? value : value - (added.get(series) ?? 0);
      // A level of 0 says that somebody looked.
      return isLevel || more > 0 ? [[series, more] as const] : [];
    });
    const [names, values] = [rows.map(([name]) => name), rows.map(([, value]) => value)];
    const prunes = clock.elapsed() - prunedAt >= KEPT.hour.stepMs;
    await database.query(ADD, [clock.now(), names, values, LEVELS, prunes], { deadlineMs: LONGEST_QUERY_MS });
    added = counted;
    if (prunes) prunedAt = clock.elapsed();
  }

  return repeat({
    clock,
    everyMs: EVERY_MS,
    run: add,
    onError: (err) => logger.debug({ err }, 'the statistics could not be written; retrying'),
  });
}
