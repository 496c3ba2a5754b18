import type { Queryable } from '../../runtime/database/database.ts';
import type { Metrics } from '../../runtime/metrics/metrics.ts';
import type { PairingWatches } from '../pairing/pairing-watches.ts';

/** Registers what the calls about connections leave open. Without a database the last value is kept. */
export function measureConnectionCalls(
  metrics: Metrics,
  db: Queryable,
  watches: Pick<PairingWatches, 'viewers'>,
): void {
  metrics.gauge(
    'connector_creations_in_doubt',
    'Requests to create a connection whose answer was lost and is not known yet.',
    [],
    async (gauge) => {
      const rows = await db
        .query<{ count: number }>(
          'select count(*) as count from connector.creations where connection_id is null and unsettled > 0',
        )
        .catch(() => []);
      if (rows[0] !== undefined) gauge.set(rows[0].count);
    },
  );
  metrics.gauge(
    'connector_pairing_streams',
    'Streams of pairing pictures that are open in this process.',
    [],
    (gauge) => gauge.set(watches.viewers),
  );
}
