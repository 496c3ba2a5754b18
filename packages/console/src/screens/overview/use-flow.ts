import { SERVICE_CONNECTIONS } from '../../data/connections.ts';
import { mode } from '../../data/live.ts';
import { useRead } from '../../data/read.ts';
import type { Figure } from '../../data/reading.ts';
import { type Range, useStatistics } from '../../data/statistics.ts';
import { SYNC_STATUS } from '../../data/sync-status.ts';
import { COUNTS, readSelfCheck, WEBHOOKS } from '../../data/webhooks.ts';

async function readNumbers() {
  const own = await readSelfCheck();
  const numbers = (await SERVICE_CONNECTIONS.queryFn()).filter(({ workspaceId }) => workspaceId !== own);
  return {
    all: numbers.length,
    connected: numbers.filter(({ status }) => status === 'connected').length,
    waiting: numbers.filter(({ needsReconnect }) => needsReconnect).length,
  };
}

/** What the flow shows. What grows with the traffic is read by the clock, and not again for each event. */
export function useFlow(range: Range) {
  const enabled = mode().mode === 'sandbox';
  const hasConnector = mode().connector;
  const statistics = useStatistics(range);
  const numbers = useRead({ queryKey: ['connections', 'count'], queryFn: readNumbers, enabled });
  const total = useRead({ ...COUNTS, enabled });
  const registered = useRead({ ...WEBHOOKS, enabled });
  const synced = useRead({ ...SYNC_STATUS, enabled: hasConnector });
  const figures: readonly Figure[] = [
    ...(enabled ? [numbers, total, registered] : []),
    ...(hasConnector ? [statistics, synced] : []),
  ];
  return {
    statistics: statistics.data,
    numbers: numbers.data,
    totals: total.data,
    webhooks: registered.data,
    synced: synced.data,
    figures,
  };
}
