import { and, eq, inArray, isNotNull, isNull } from 'drizzle-orm';
import { z } from 'zod';
import { orm } from '../../runtime/database/orm.ts';
import { messages } from '../db/message-tables.ts';
import { removeBytes } from '../media/media-store.ts';
import type { StateChange } from '../time/state-change.ts';
import type { TimerHandler } from '../time/timer-runner.ts';

/** Removed in one transaction; the bytes of files weigh more than any number of texts. */
const MESSAGES_AT_ONCE = 10_000;
const FILES_AT_ONCE = 50;

/** Rows that a receipt or a read mark holds are left for the next time, so that none waits in a circle. */
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
 * Removes messages of a connection that goes, or has gone, with the bytes of their files. Nobody sees them any
 * more; so many at once that the transaction is short, and the rest by a timer that is due at once. What a phone
 * has got is still listed there, files by name and digest.
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

/** Goes on with what a deletion began. */
export const purgeTimers: Readonly<Record<string, TimerHandler>> = {
  'connection.purge': {
    alone: true,
    async fire(change, timers) {
      for (const { payload } of timers) await purgeMessages(change, purgeTimer.parse(payload).connectionId);
    },
  },
};
