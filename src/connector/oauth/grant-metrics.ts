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
