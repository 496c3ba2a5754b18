import { eq } from 'drizzle-orm';
import { orm } from '../../runtime/database/orm.ts';
import type { Credential } from '../credentials/credential.ts';
import { connections } from '../db/core-tables.ts';
import type { StateChange } from '../time/state-change.ts';
import { lockWorkspace } from '../workspaces/workspaces.ts';
import { type Connection, findReachable, readConnection } from './read-connections.ts';

/** Takes the locks in their one order; what was read before them may be gone. */
async function takeLocks({ tx }: StateChange, { id, workspaceId }: Connection): Promise<void> {
  await lockWorkspace(tx, workspaceId);
  await orm(tx).select({ id: connections.id }).from(connections).where(eq(connections.id, id)).for('update');
}

/** A connection under the lock of its workspace and its own, to the end of the transaction. Throws `not_found`. */
export async function lockConnection(change: StateChange, id: string): Promise<Connection> {
  await takeLocks(change, await readConnection(change.tx, id, change.now));
  return readConnection(change.tx, id, change.now);
}

/** The same for a caller: throws `not_found` for whatever the credential does not reach. */
export async function lockReachable(
  change: StateChange,
  credential: Credential,
  id: string,
): Promise<Connection> {
  await takeLocks(change, await findReachable(change.tx, credential, id, change.now));
  return findReachable(change.tx, credential, id, change.now);
}
