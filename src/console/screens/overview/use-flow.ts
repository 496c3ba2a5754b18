import { connector, sandbox } from '../../data/client.ts';
import { mode } from '../../data/live.ts';
import { useRead } from '../../data/read.ts';
import type { Figure } from '../../data/reading.ts';
import { syncStatus } from '../../data/sync-status.ts';
import { counts, readOwn, readSelfCheck, webhooks } from './lane.tsx';

/** How many of the newest events are read. If there are more in an hour, the beginning of the hour is not known. */
const MOST = 500;

/** The newest deliveries but copies, by when they were created. */
async function readDeliveries() {
  const q = `!copy:* ${await readOwn()}`.trim();
  const { entries, nextCursor } = await sandbox('GET', '/deliveries', { query: { q, limit: String(MOST) } });
  const times = entries.map(({ event, messageId, outcome, createdAt, attempts }) => ({
    event,
    messageId,
    outcome,
    at: Date.parse(createdAt),
    ms: attempts.find(({ status }) => status !== undefined)?.ms,
  }));
  return { entries: times, since: nextCursor === undefined ? 0 : Math.min(...times.map(({ at }) => at)) };
}

/** The newest changes for the CRM, and the number of the last one. */
async function readChanges() {
  const newest = await connector('GET', '/v1/changes', { query: { after: 'latest', limit: '1' } });
  const last = Number(newest.lastSeq);
  const after = String(Math.max(0, last - MOST));
  const { changes } = await connector('GET', '/v1/changes', { query: { after, limit: String(MOST) } });
  const entries = changes.map(({ at }) => ({ at: Date.parse(at) }));
  return { entries, last, since: last <= MOST ? 0 : Math.min(...entries.map(({ at }) => at)) };
}

async function readNumbers() {
  const own = await readSelfCheck();
  const { entries } = await sandbox('GET', '/connections', { query: { limit: '1000' } });
  const numbers = entries.filter(({ workspaceId }) => workspaceId !== own);
  return {
    all: numbers.length,
    connected: numbers.filter(({ status }) => status === 'connected').length,
    waiting: numbers.filter(({ needsReconnect }) => needsReconnect).length,
  };
}

/** What the flow shows. What grows with the traffic is read by the clock, and not again for each event. */
export function useFlow() {
  const enabled = mode().mode === 'sandbox';
  const hasConnector = mode().connector;
  const deliveries = useRead({ queryKey: ['hour', 'deliveries'], queryFn: readDeliveries, enabled });
  const changes = useRead({ queryKey: ['hour', 'changes'], queryFn: readChanges, enabled: hasConnector });
  const numbers = useRead({ queryKey: ['connections', 'count'], queryFn: readNumbers, enabled });
  const total = useRead({ ...counts(), enabled });
  const registered = useRead({ ...webhooks(), enabled });
  const synced = useRead({ ...syncStatus(), enabled: hasConnector });
  const figures: readonly Figure[] = [
    ...(enabled ? [deliveries, numbers, total, registered] : []),
    ...(hasConnector ? [changes, synced] : []),
  ];
  return {
    deliveries: deliveries.data,
    changes: changes.data,
    numbers: numbers.data,
    totals: total.data,
    webhooks: registered.data,
    synced: synced.data,
    figures,
  };
}
