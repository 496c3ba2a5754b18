import { z } from 'zod';
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
  const rows = await tx.query<{ media_id: string }>(
    `DELETE FROM platform.messages WHERE id IN (
       SELECT id FROM platform.messages WHERE connection_id = $1 AND media_id IS ${what.files ? 'NOT NULL' : 'NULL'}
       LIMIT $2 FOR UPDATE SKIP LOCKED)
     RETURNING media_id`,
    [connectionId, what.limit],
  );
  return rows.map((row) => row.media_id);
}

async function removeFiles(change: StateChange, connectionId: string): Promise<void> {
  const ids = await removeSome(change, connectionId, { files: true, limit: FILES_AT_ONCE });
  if (ids.length === 0) return;
  await change.tx.query('DELETE FROM platform.media_chunks WHERE media_id = ANY($1::text[])', [ids]);
}

/**
 * Removes messages of a connection that goes, or has gone, with the bytes of their files. Nobody sees them any
 * more; so many at once that the transaction is short, and the rest by a timer that is due at once. What a phone
 * has got is still listed there, files by name and digest.
 */
export async function purgeMessages(change: StateChange, connectionId: string): Promise<void> {
  await removeFiles(change, connectionId);
  await removeSome(change, connectionId, { files: false, limit: MESSAGES_AT_ONCE });
  const left = await change.tx.query('SELECT 1 FROM platform.messages WHERE connection_id = $1 LIMIT 1', [
    connectionId,
  ]);
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
