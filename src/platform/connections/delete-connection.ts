import { eq } from 'drizzle-orm';
import { orm } from '../../runtime/database/orm.ts';
import type { Credential } from '../credentials/credential.ts';
import { connections } from '../db/core-tables.ts';
import { returnSlot } from '../licensing/slots.ts';
import type { ChangeState, StateChange } from '../time/state-change.ts';
import { ensureDefault } from './default-connection.ts';
import { lockReachable } from './lock-connection.ts';

/**
 * Deletes a connection permanently, with its session and its messages. Its slot returns to the pool with its
 * remaining time. Ids are random, so none is used again. Throws `not_found`. [connections.delete.permanent]
 * [state.delete.gone] [state.delete.id-retired]
 */
export function deleteConnection(
  changeState: ChangeState,
  credential: Credential,
  connectionId: string,
  purgeMessages: (change: StateChange, connectionId: string) => Promise<void>,
): Promise<void> {
  return changeState(async (change) => {
    const { workspaceId } = await lockReachable(change, credential, connectionId);
    await returnSlot(change, connectionId); // [state.delete.slot] [service.slot.returns]
    await purgeMessages(change, connectionId);
    await orm(change.tx).delete(connections).where(eq(connections.id, connectionId));
    await ensureDefault(change, workspaceId);
  });
}
