import { sandbox } from '../../data/client.ts';
import { queries } from '../../data/live.ts';
import { useRead } from '../../data/read.ts';
import { restartLists } from '../../data/use-live-list.ts';

/** The name of the one snapshot that the page takes by itself. */
export const BEFORE_ADVANCE = 'before the last advance';

/** What a restore loses. */
export const LOST =
  'messages, deliveries, calls, connections, keys and faults, of the attached connector too. What is in progress is interrupted.';

export const useSnapshots = () =>
  useRead({
    queryKey: ['snapshots'],
    queryFn: async () => (await sandbox('GET', '/snapshots')).entries,
  });

/** Reads everything again: nothing on display may be there any more. */
export async function startOver(): Promise<void> {
  restartLists();
  await queries.invalidateQueries();
}

export const rereadSnapshots = (): Promise<void> => queries.invalidateQueries({ queryKey: ['snapshots'] });

export const removeSnapshot = (id: string) => sandbox('DELETE', '/snapshots/{id}', { params: { id } });
export const restoreSnapshot = (id: string) => sandbox('POST', '/snapshots/{id}/restore', { params: { id } });

/** Saves the state in the place of what was saved before the previous advance. */
export async function saveBeforeAdvance(): Promise<void> {
  const { entries } = await sandbox('GET', '/snapshots');
  for (const { id, label } of entries) if (label === BEFORE_ADVANCE) await removeSnapshot(id);
  await sandbox('POST', '/snapshots', { body: { label: BEFORE_ADVANCE } });
  await rereadSnapshots();
}
