import type { Provider } from '../../../contract/service/statuses.ts';
import type { NetworkSession, NetworkSessions } from '../../network/network.ts';
import type { StateChange } from '../../time/state-change.ts';
import type { SessionState } from '../transitions.ts';

/** What the service shows of a connection, and what the network knows. */
export interface Health {
  readonly provider: Provider;
  readonly state: SessionState;
  readonly session: NetworkSession;
}

/** Both under their locks, the connection's first. Null for an unknown connection. */
export async function lockHealth(
  change: StateChange,
  sessions: NetworkSessions,
  connectionId: string,
): Promise<Health | null> {
  const [row] = await change.tx.query<{ provider: Provider; state: SessionState }>(
    'SELECT provider, state FROM platform.connections WHERE id = $1 FOR UPDATE',
    [connectionId],
  );
  if (row === undefined) return null;
  return { ...row, session: await sessions.lock(change, connectionId) };
}
