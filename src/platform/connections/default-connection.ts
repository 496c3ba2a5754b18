import { and, asc, eq, isNotNull } from 'drizzle-orm';
import { orm } from '../../runtime/database/orm.ts';
import { connections } from '../db/core-tables.ts';
import type { StateChange } from '../time/state-change.ts';

/**
 * Makes the oldest paired connection of a workspace its default if it has no default: before the first one pairs,
 * and after the default was deleted. The caller holds the workspace's lock.
 */
export async function ensureDefault({ tx }: StateChange, workspaceId: string): Promise<void> {
  const { id, isDefault, pairedAt, position } = connections;
  const [oldest] = await orm(tx)
    .select({ id })
    .from(connections)
    .where(and(eq(connections.workspaceId, workspaceId), isNotNull(pairedAt)))
    .orderBy(asc(position))
    .limit(1);
  const others = await orm(tx).$count(
    connections,
    and(eq(connections.workspaceId, workspaceId), eq(isDefault, true)),
  );
  if (oldest === undefined || others > 0) return;
  await orm(tx).update(connections).set({ isDefault: true }).where(eq(id, oldest.id));
}
