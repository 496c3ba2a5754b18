import type { Credential } from '../credentials/credential.ts';
import { returnSlot } from '../licensing/return-slot.ts';
import { forgetMedia } from '../media/forget-media.ts';
import type { ChangeState, StateChange } from '../state-change.ts';
import { ensureDefault } from './default-connection.ts';
import { lockReachable } from './lock-connection.ts';

/** Locks the rows in the orders in which receipts and read marks lock them, so that none waits in a circle. */
async function deleteMessages({ tx }: StateChange, connectionId: string): Promise<void> {
  for (const [direction, order] of [
    ['outgoing', 'id'],
    ['incoming', 'position'],
  ] as const) {
    await tx.query(
      `DELETE FROM platform.messages WHERE id IN (
         SELECT id FROM platform.messages WHERE connection_id = $1 AND direction = $2
         ORDER BY ${order} FOR UPDATE)`,
      [connectionId, direction],
    );
  }
}

/**
 * Deletes a connection for good, with its session and its messages; its slot goes back to the pool with the
 * time that is left. Ids are random, so none comes again. Throws `not_found`.
 * Implements `Rules per endpoint`, 4.
 */
export function deleteConnection(
  changeState: ChangeState,
  credential: Credential,
  connectionId: string,
): Promise<void> {
  return changeState(async (change) => {
    const { workspaceId } = await lockReachable(change, credential, connectionId);
    await returnSlot(change, connectionId);
    await forgetMedia(change, connectionId);
    await deleteMessages(change, connectionId);
    await change.tx.query('DELETE FROM platform.connections WHERE id = $1', [connectionId]);
    await ensureDefault(change, workspaceId);
  });
}
