import { eq, inArray } from 'drizzle-orm';
import { orm } from '../../runtime/database/orm.ts';
import { messages } from '../db/message-tables.ts';
import { removeBytes } from '../media/media-store.ts';
import type { StateChange } from '../time/state-change.ts';

/**
 * Deletes the messages of a deleted connection, with the bytes of their files. The lists of what phones received
 * remain, with the names and digests of files.
 */
export async function purgeMessages({ tx }: StateChange, connectionId: string): Promise<void> {
  const { id, mediaId } = messages;
  // In the order in which receipts lock them, so that the two never deadlock.
  const all = orm(tx)
    .select({ id })
    .from(messages)
    .where(eq(messages.connectionId, connectionId))
    .orderBy(id)
    .for('update');
  const rows = await orm(tx).delete(messages).where(inArray(id, all)).returning({ mediaId });
  await removeBytes(
    tx,
    rows.flatMap((row) => row.mediaId ?? []),
  );
}
