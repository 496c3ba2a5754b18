import type { Database } from '../database/database.ts';
import type { Metrics } from './metrics.ts';

/** Registers the health of a pool of database connections as metrics. */
export function measureDatabase(metrics: Metrics, database: Pick<Database, 'health'>): void {
  metrics.gauge(
    'connector_database_connections',
    'Connections of this process to the database: open, busy, and requests that wait for one.',
    ['state'],
    (shown) => {
      const { open, busy, waiting } = database.health;
      shown.set({ state: 'open' }, open);
      shown.set({ state: 'busy' }, busy);
      shown.set({ state: 'waiting' }, waiting);
    },
  );
  metrics.gauge(
    'connector_database_deadline_hits',
    'Queries since the start of the process that were given up at their deadline.',
    [],
    (shown) => shown.set(database.health.deadlineHits),
  );
}
