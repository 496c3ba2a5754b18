import { and, eq, inArray, isNotNull, isNull } from 'drizzle-orm';
import { z } from 'zod';
import { orm } from '../../runtime/database/orm.ts';
import { messages } from '../db/message-tables.ts';
import { removeBytes } from '../media/media-store.ts';
import type { StateChange } from '../time/state-change.ts';
import type { TimerHandler } from '../time/timer-runner.ts';

/** The maximum per transaction. */
const MESSAGES_AT_ONCE = 10_000;
const FILES_AT_ONCE = 50;

/** Skips rows that are locked by a receipt or a read mark, to prevent deadlocks. The next run deletes them. */
async function removeSome(
  { tx }: StateChange,
  connectionId: string,
  what: { readonly files: boolean; readonly limit: number },
): Promise<string[]> {
  const { id, mediaId } = messages;
  const some = orm(tx)
    .select({ id })
    .from(messages)
    .where(and(eq(messages.connectionId, connectionId), what.files ? isNotNull(mediaId) : isNull(mediaId)))
    .limit(what.limit)
    .for('update', { skipLocked: true });
  const rows = await orm(tx).delete(messages).where(inArray(id, some)).returning({ mediaId });
  return rows.flatMap((row) => row.mediaId ?? []);
}

/**
 * Deletes the messages of a deleted connection, with the bytes of their files. They are no longer visible. To keep
 * the transaction short, it deletes a limited number, and a timer that is due at once deletes the rest. The lists of
 * what phones received remain, with the names and digests of files.
 */
export async function purgeMessages(change: StateChange, connectionId: string): Promise<void> {
  await removeBytes(change.tx, await removeSome(change, connectionId, { files: true, limit: FILES_AT_ONCE }));
  await removeSome(change, connectionId, { files: false, limit: MESSAGES_AT_ONCE });
  const left = await orm(change.tx)
    .select({ id: messages.id })
    .from(messages)
    .where(eq(messages.connectionId, connectionId))
    .limit(1);
  if (left.length === 0) return;
  await change.schedule([{ kind: 'connection.purge', dueAt: change.now, payload: { connectionId } }]);
}

const purgeTimer = z.object({ connectionId: z.string() });

/** The timer that continues a deletion. */
export const purgeTimers: Readonly<Record<string, TimerHandler>> = {
  'connection.purge': {
    alone: true,
    async fire(change, timers) {
      for (const { payload } of timers) await purgeMessages(change, purgeTimer.parse(payload).connectionId);
    },
  },
};
