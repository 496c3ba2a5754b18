import { asc, eq, sql } from 'drizzle-orm';
import type { WorkspaceKind } from '../../contract/service/statuses.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { workspaces } from '../db/core-tables.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import { newIdentifier } from '../kernel/identifiers.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { ChangeState, StateChange } from '../time/state-change.ts';

type Row = typeof workspaces.$inferSelect;
export type Workspace = Pick<Row, 'id' | 'kind'>;

/** A workspace in a list. `createdAt` is virtual epoch ms. */
export type ListedWorkspace = Pick<Row, 'id' | 'kind' | 'createdAt'>;

/** Creates workspaces, outside of the API. */
export interface Workspaces {
  /** `slots`: how many numbers may pair with a license; absent: the value in `assumptions.ts`. */
  create(input: { readonly kind: WorkspaceKind; readonly slots?: number }): Promise<Workspace>;
  exists(id: string): Promise<boolean>;
  /** All workspaces, oldest first. */
  list(page: { readonly skip: number; readonly limit: number }): Promise<ListedWorkspace[]>;
}

export function createWorkspaces(changeState: ChangeState): Workspaces {
  return {
    create: ({ kind, slots = ASSUMPTIONS.slotsPerWorkspace.value }) =>
      changeState(async ({ tx, now }) => {
        const id = newIdentifier();
        await orm(tx).insert(workspaces).values({ id, kind, slots, lastCreatedAt: now, createdAt: now });
        return { id, kind };
      }),
    exists: (id) =>
      changeState(async ({ tx }) => {
        return (await orm(tx).$count(workspaces, eq(workspaces.id, id))) > 0;
      }),
    list: ({ skip, limit }) =>
      changeState(async ({ tx }) => {
        const { id, kind, createdAt } = workspaces;
        return await orm(tx)
          .select({ id, kind, createdAt })
          .from(workspaces)
          .orderBy(asc(workspaces.position))
          .offset(skip)
          .limit(limit);
      }),
  };
}

/** Locks the row of a workspace until the end of the transaction and reads it. Throws `not_found`. */
export async function lockWorkspace(
  tx: Queryable,
  id: string,
): Promise<{ kind: WorkspaceKind; slots: number }> {
  const [row] = await orm(tx)
    .select({ kind: workspaces.kind, slots: workspaces.slots })
    .from(workspaces)
    .where(eq(workspaces.id, id))
    .for('no key update');
  if (row === undefined) throw new PlatformError('not_found');
  return row;
}

/**
 * The `createdAt` of an object that this transaction creates: not before `at`, by default the change's time. The row
 * lock serializes the writers of a workspace, and the time never decreases between them, whatever the clocks do. So
 * a page in the order of positions is newest first. Throws `not_found`.
 * [messages.list.newest-first]
 */
export async function stampCreation(
  { tx, now }: Pick<StateChange, 'tx' | 'now'>,
  workspaceId: string,
  at: number = now,
): Promise<number> {
  const { lastCreatedAt } = workspaces;
  const [row] = await orm(tx)
    .update(workspaces)
    .set({ lastCreatedAt: sql`greatest(${lastCreatedAt}, ${at})` })
    .where(eq(workspaces.id, workspaceId))
    .returning({ lastCreatedAt });
  if (row === undefined) throw new PlatformError('not_found');
  return row.lastCreatedAt;
}
