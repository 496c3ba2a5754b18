import type { Database } from '../../runtime/database/database.ts';
import type { Metrics } from '../../runtime/metrics/metrics.ts';
import type { RefreshEnd } from './refresh-grant.ts';

/** Counts the refreshes that this process made. */
export function countRefreshes(metrics: Metrics): (end: RefreshEnd) => void {
  const refreshes = metrics.counter(
    'connector_oauth_refreshes_total',
    'Refreshes of access tokens on the wire, by outcome.',
    { name: 'outcome', values: ['refreshed', 'ended', 'failed'] },
  );
  return (outcome) => refreshes.inc({ outcome });
}

/** Registers how many grants stand, and how many wait for a consent. Read when metrics are asked for. */
export function measureGrants(metrics: Metrics, database: Database): void {
  const read = (): Promise<{ active: number; ended: number }[]> =>
    database.query(
      `select count(*) filter (where ended_at is null)::integer as active,
              count(*) filter (where ended_at is not null)::integer as ended
         from connector.oauth_grants`,
    );
  metrics.gauge('connector_oauth_grants', 'OAuth grants, by state.', ['state'], async (grants) => {
    const [row] = await read().catch(() => []);
    if (row === undefined) return;
    grants.set({ state: 'active' }, row.active);
    grants.set({ state: 'reauth_required' }, row.ended);
  });
}
