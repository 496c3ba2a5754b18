import type { Queryable } from '../../../runtime/database/database.ts';
import type { App } from '../apps.ts';
import { type PortalSession, readOwned } from '../portal-session.ts';
import { type Consent, readGrantable } from './give-consent.ts';
import type { AuthorizationRequest } from './read-request.ts';

/**
 * What needs no question: the developer of the app is signed in and owns exactly one standalone workspace with at
 * least one connection that the request is about. Null: somebody has to be asked. [oauth.consent.automatic]
 * [choice.oauth.developer]
 */
export async function approveAutomatically(
  db: Queryable,
  { ownerWorkspaceId }: App,
  request: AuthorizationRequest,
  session: PortalSession | null,
): Promise<Consent | null> {
  const owned = await readOwned(db, session);
  const [standalone, second] = owned.filter(({ kind }) => kind === 'standalone');
  if (standalone === undefined || second !== undefined || standalone.id !== ownerWorkspaceId) return null;
  const connections = await readGrantable(db, standalone.id, request);
  if (connections.length === 0) return null;
  return {
    workspaceId: standalone.id,
    scopes: request.scopes,
    connectionIds: connections.map(({ id }) => id),
  };
}
