import { and, desc, not, sql } from 'drizzle-orm';
import type { WorkspaceKind } from '../../contract/service/statuses.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { connections, workspaces } from '../db/core-tables.ts';
import type { App } from './apps.ts';

/** Somebody who is signed in to the developer portal. */
export interface PortalSession {
  /** As whom; in words for people. */
  readonly name?: string;
  /** The workspaces that they own; null: every one there is. */
  readonly workspaceIds: readonly string[] | null;
  /** Of those, the ones that are not theirs after all. Default: none. */
  readonly except?: readonly string[];
}

/** Port: signing in belongs to the portal, not to this server. */
export interface PortalSessions {
  /** Who is signed in where an app sends its user to be asked; null: nobody. */
  find(app: Pick<App, 'ownerWorkspaceId'>): PortalSession | null;
}

export const nobodySignedIn: PortalSessions = { find: () => null };

/** A workspace that somebody owns. */
export interface OwnedWorkspace {
  readonly id: string;
  readonly kind: WorkspaceKind;
  /** How many connections it has. */
  readonly connections: number;
  /** Numbers of the first of them, without `+`, empty where none has paired; at most three. */
  readonly numbers: readonly string[];
  /** What those are called. */
  readonly labels: readonly string[];
}

const MAX_SHOWN = 100;

/** The workspaces of a session, newest first and at most a hundred; none where nobody is signed in. */
export async function readOwned(db: Queryable, session: PortalSession | null): Promise<OwnedWorkspace[]> {
  if (session === null) return [];
  const { workspaceIds, except = [] } = session;
  const { id, kind, createdAt } = workspaces;
  // The workspace's column stands in a template of its own: drizzle drops the table's name from others.
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
