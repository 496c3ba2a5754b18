import { eq } from 'drizzle-orm';
import { orm } from '../../runtime/database/orm.ts';
import type { Credential } from '../credentials/credential.ts';
import { connections } from '../db/core-tables.ts';
import type { StateChange } from '../time/state-change.ts';
import { lockWorkspace } from '../workspaces/workspaces.ts';
import { type Connection, findReachable, readConnection } from './read-connections.ts';

/** Takes the locks in the fixed order: workspace, then connection. Rows read before may have changed. */
async function takeLocks({ tx }: StateChange, { id, workspaceId }: Connection): Promise<void> {
  await lockWorkspace(tx, workspaceId);
  await orm(tx).select({ id: connections.id }).from(connections).where(eq(connections.id, id)).for('update');
}

/** Locks a connection and its workspace until the end of the transaction, and reads it. Throws `not_found`. */
export async function lockConnection(change: StateChange, id: string): Promise<Connection> {
  await takeLocks(change, await readConnection(change.tx, id, change.now));
  return readConnection(change.tx, id, change.now);
}

/** The same for a caller: also throws `not_found` for a connection that the credential does not reach. */
export async function lockReachable(
  change: StateChange,
  credential: Credential,
  id: string,
): Promise<Connection> {
  await takeLocks(change, await findReachable(change.tx, credential, id, change.now));
  return findReachable(change.tx, credential, id, change.now);
}
