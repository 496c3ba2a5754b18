import type { Database } from '../database/database.ts';
import type { Metrics } from './metrics.ts';

/** Registers the health of pools of database connections as metrics, by the name of each pool. */
export function measureDatabase(
  metrics: Metrics,
  pools: Readonly<Record<string, Pick<Database, 'health'>>>,
): void {
  metrics.gauge(
    'connector_database_connections',
    'Connections of this process to the database: open, busy, and requests that wait for one.',
    ['pool', 'state'],
    (shown) => {
      for (const [pool, { health }] of Object.entries(pools)) {
        shown.set({ pool, state: 'open' }, health.open);
        shown.set({ pool, state: 'busy' }, health.busy);
        shown.set({ pool, state: 'waiting' }, health.waiting);
      }
    },
  );
  metrics.gauge(
    'connector_database_deadline_hits',
    'Queries that were aborted at their deadline since the start of the process.',
    ['pool'],
    (shown) => {
      for (const [pool, { health }] of Object.entries(pools)) shown.set({ pool }, health.deadlineHits);
    },
  );
}
