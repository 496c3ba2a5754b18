import { connector, sandbox } from '../../data/client.ts';
import { VIRTUAL_TIME } from '../../data/clock.ts';
import { mode } from '../../data/live.ts';
import { useRead } from '../../data/read.ts';
import type { Figure } from '../../data/reading.ts';
import { SYNC_STATUS } from '../../data/sync-status.ts';
import { COUNTS, FAULTS, WEBHOOKS } from '../../data/webhooks.ts';
import {
  CONNECTION_CONCERNS,
  type Concern,
  connectionConcern,
  connectorConcerns,
  laneConcerns,
} from './concerns.ts';

/** Maximum number of connections that are named; the list has all of them. */
const FEW = '6';

async function readConnectionConcerns(): Promise<readonly Concern[]> {
  const read = async (kind: (typeof CONNECTION_CONCERNS)[number]): Promise<Concern | null> =>
    connectionConcern(kind, await sandbox('GET', '/connections', { query: { q: kind.q, limit: FEW } }));
  return (await Promise.all(CONNECTION_CONCERNS.map(read))).filter((concern) => concern !== null);
}

async function readConnector() {
  // The sandbox tells of the connections of the service itself.
  const isAlone = mode().mode !== 'sandbox';
  const query = { limit: '1000' };
  const [{ accounts }, letters, mirrored] = await Promise.all([
    connector('GET', '/v1/accounts', { query }),
    connector('GET', '/v1/dead-letters', { query: { limit: '100' } }),
    isAlone
      ? connector('GET', '/v1/connections', { query: { ...query, health: 'needs_reconnect' } })
      : undefined,
  ]);
  return {
    accounts,
    broken: mirrored,
    deadLetters: { count: letters.deadLetters.length, hasMore: letters.hasMore },
  };
}

/** What waits for a person, the gravest first, and the figures that it was derived from. */
export function useConcerns(): {
  readonly concerns: readonly Concern[];
  readonly figures: readonly Figure[];
} {
  const enabled = mode().mode === 'sandbox';
  const hasConnector = mode().connector;
  const connections = useRead({
    queryKey: ['connections', 'concerns'],
    queryFn: readConnectionConcerns,
    enabled,
  });
  const total = useRead({ ...COUNTS, enabled });
  const registered = useRead({ ...WEBHOOKS, enabled });
  const faults = useRead({ ...FAULTS, enabled });
  const time = useRead({ ...VIRTUAL_TIME, enabled });
  const synced = useRead({ ...SYNC_STATUS, enabled: hasConnector });
  const ofConnector = useRead({
    queryKey: ['sync', 'concerns'],
    queryFn: readConnector,
    enabled: hasConnector,
  });
  const ofSandbox = [connections, total, registered, faults, time];
  const concerns = [
    ...(connections.data ?? []),
    ...connectorConcerns({ ...ofConnector.data, sync: synced.data }),
    ...laneConcerns({
      webhooks: registered.data,
      held: total.data?.held,
      faults: faults.data,
      isFrozen: time.data?.frozen,
    }),
  ].toSorted((a, b) => Number(a.tone === 'warn') - Number(b.tone === 'warn'));
  return {
    concerns,
    figures: [...(enabled ? ofSandbox : []), ...(hasConnector ? [synced, ofConnector] : [])],
  };
}
