import type { Credential } from '../credentials/credential.ts';
import { returnSlot } from '../licensing/slots.ts';
import type { ChangeState } from '../time/state-change.ts';
import { ensureDefault } from './default-connection.ts';
import { lockReachable } from './lock-connection.ts';
import { purgeMessages } from './purge-messages.ts';

/**
 * Deletes a connection for good, with its session and its messages; its slot goes back to the pool with the
 * time that is left. Ids are random, so none comes again. Throws `not_found`. [connections.delete.permanent]
 * [state.delete.gone] [state.delete.id-retired]
 */
export function deleteConnection(
  changeState: ChangeState,
  credential: Credential,
  connectionId: string,
): Promise<void> {
  return changeState(async (change) => {
    const { workspaceId } = await lockReachable(change, credential, connectionId);
    await returnSlot(change, connectionId); // [state.delete.slot] [service.slot.returns]
    await purgeMessages(change, connectionId);
    await change.tx.query('DELETE FROM platform.connections WHERE id = $1', [connectionId]);
    await ensureDefault(change, workspaceId);
  });
}
