import type { WorkspaceKind } from '../../contract/service/statuses.ts';
import type { Queryable } from '../../runtime/database/database.ts';
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

const MOST_SHOWN = 100;

/** The workspaces of a session, newest first and at most a hundred; none where nobody is signed in. */
export function readOwned(db: Queryable, session: PortalSession | null): Promise<OwnedWorkspace[]> {
  return db.query<OwnedWorkspace>(
    `SELECT w.id, w.kind,
       (SELECT count(*) FROM platform.connections c WHERE c.workspace_id = w.id) AS connections,
       ARRAY(SELECT coalesce(c.phone_number, '') FROM platform.connections c WHERE c.workspace_id = w.id
         ORDER BY c.position LIMIT 3) AS numbers,
       ARRAY(SELECT c.label FROM platform.connections c WHERE c.workspace_id = w.id
         ORDER BY c.position LIMIT 3) AS labels
     FROM platform.workspaces w
     WHERE $1::boolean AND ($2::text[] IS NULL OR w.id = ANY($2::text[]))
       AND w.id <> ALL($4::text[])
     ORDER BY w.created_at DESC, w.id LIMIT $3::integer`,
    [session !== null, session?.workspaceIds ?? null, MOST_SHOWN, session?.except ?? []],
  );
}
