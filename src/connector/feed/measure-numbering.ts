import type { Clock } from '../../runtime/clock/clock.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { Metrics } from '../../runtime/metrics/metrics.ts';

/** The oldest committed change that has no number yet: nobody can read it. */
export async function readOldestUnnumbered(db: Queryable): Promise<number | null> {
  const [row] = await db.query<{ at: number }>(
    `select c.at from (select id from connector.change_batches where last_seq is null order by id limit 1) b
       join connector.changes c on c.batch = b.id and c.position = 1`,
  );
  return row?.at ?? null;
}

/** Registers how long changes wait for their numbers. Without a database the last value stays. */
export function measureNumbering(metrics: Metrics, db: Queryable, clock: Clock): void {
  metrics.gauge(
    'connector_feed_lag_seconds',
    'Age of the oldest committed change that has no number yet; 0 when all have.',
    [],
    async (shown) => {
      const at = await readOldestUnnumbered(db).catch(() => undefined);
      if (at !== undefined) shown.set(at === null ? 0 : Math.max(0, clock.now() - at) / 1_000);
    },
  );
}
