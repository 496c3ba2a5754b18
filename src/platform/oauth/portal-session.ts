import { and, desc, not, sql } from 'drizzle-orm';
import type { WorkspaceKind } from '../../contract/service/statuses.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { connections, workspaces } from '../db/core-tables.ts';
import type { App } from './apps.ts';

/** A user who is signed in to the developer portal. */
export interface PortalSession {
  /** The user's name, for display. */
  readonly name?: string;
  /** The workspaces that the user owns; null: all workspaces. */
  readonly workspaceIds: readonly string[] | null;
  /** Exceptions from `workspaceIds`. Default: none. */
  readonly except?: readonly string[];
}

/** Port: sessions of the developer portal, which this server does not manage. */
export interface PortalSessions {
  /** The session of the user whom an app sends to the consent page; null if not signed in. */
  find(app: Pick<App, 'ownerWorkspaceId'>): PortalSession | null;
}

export const noPortalSessions: PortalSessions = { find: () => null };

export interface OwnedWorkspace {
  readonly id: string;
  readonly kind: WorkspaceKind;
  /** Number of its connections. */
  readonly connections: number;
  /** Phone numbers of the first three connections, without `+`; empty for one that has not paired. */
  readonly numbers: readonly string[];
  /** Labels of the same connections. */
  readonly labels: readonly string[];
}

const MAX_SHOWN = 100;

/** The workspaces of a session, newest first, at most a hundred; empty without a session. */
export async function readOwned(db: Queryable, session: PortalSession | null): Promise<OwnedWorkspace[]> {
  if (session === null) return [];
  const { workspaceIds, except = [] } = session;
  const { id, kind, createdAt } = workspaces;
  // The workspace's column is in a nested template, because drizzle omits the table's name from those that are not.
  const own = sql`from ${connections} c where c.workspace_id = ${sql`${id}`}`;
  const first = sql`${own} order by c.position limit 3`;
  return await orm(db)
    .select({
      ...{ id, kind },
      connections: sql<number>`(select count(*) ${own})`,
      numbers: sql<string[]>`array(select coalesce(c.phone_number, '') ${first})`,
      labels: sql<string[]>`array(select c.label ${first})`,
    })
    .from(workspaces)
    .where(
      and(
        workspaceIds === null ? undefined : isAnyOf(id, workspaceIds),
        except.length === 0 ? undefined : not(isAnyOf(id, except)),
      ),
    )
    .orderBy(desc(createdAt), id)
    .limit(MAX_SHOWN);
}
