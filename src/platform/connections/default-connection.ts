import type { StateChange } from '../time/state-change.ts';

/**
 * Makes the oldest paired connection of a workspace its default, where it has none: the first that paired, and
 * the next one after a default was deleted. The caller holds the workspace's lock.
 */
export async function ensureDefault({ tx }: StateChange, workspaceId: string): Promise<void> {
  await tx.query(
    `UPDATE platform.connections SET is_default = true
     WHERE id = (SELECT id FROM platform.connections WHERE workspace_id = $1 AND paired_at IS NOT NULL
                 ORDER BY position LIMIT 1)
       AND NOT EXISTS (SELECT 1 FROM platform.connections WHERE workspace_id = $1 AND is_default)`,
    [workspaceId],
  );
}
