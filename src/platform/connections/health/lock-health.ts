import { eq } from 'drizzle-orm';
import type { Provider } from '../../../contract/service/statuses.ts';
import { orm } from '../../../runtime/database/orm.ts';
import { connections, type SessionState } from '../../db/core-tables.ts';
import type { NetworkSession, NetworkSessions } from '../../network/network.ts';
import type { StateChange } from '../../time/state-change.ts';

/** A connection as the service shows it, and its session as the network knows it. */
export interface Health {
  readonly provider: Provider;
  readonly state: SessionState;
  readonly session: NetworkSession;
}

/** Locks and reads both, the connection first. Null for an unknown connection. */
export async function lockHealth(
  change: StateChange,
  sessions: NetworkSessions,
  connectionId: string,
): Promise<Health | null> {
  const [row] = await orm(change.tx)
    .select({ provider: connections.provider, state: connections.state })
    .from(connections)
    .where(eq(connections.id, connectionId))
    .for('update');
  if (row === undefined) return null;
  return { ...row, session: await sessions.lock(change, connectionId) };
}
