import type { StateChange } from '../state-change.ts';

/**
 * Removes the bytes of all files of a connection's messages. For the change that deletes the connection, before
 * its messages go. What a phone has got is still listed there, by name and digest.
 */
export async function forgetMedia({ tx }: StateChange, connectionId: string): Promise<void> {
  await tx.query(
    `DELETE FROM platform.media_chunks c USING platform.messages m
     WHERE m.connection_id = $1 AND m.media_id IS NOT NULL AND c.media_id = m.media_id`,
    [connectionId],
  );
}
