import type { StateChange } from '../time/state-change.ts';

/**
 * Puts the slot of a connection back into its workspace's pool, with the time that it has left. A connection
 * without one returns nothing. Called in the change that removes the connection.
 * Implements `What the service does`, 5.
 */
export async function returnSlot({ tx }: StateChange, connectionId: string): Promise<void> {
  await tx.query('UPDATE platform.licences SET connection_id = NULL WHERE connection_id = $1', [
    connectionId,
  ]);
}
