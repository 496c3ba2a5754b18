import type { PortalSessions } from '../platform/oauth/portal-session.ts';

/**
 * Who is signed in to the developer portal: the developer of an app, wherever that app sends its user. An app
 * whose developer has no workspace here meets somebody who may speak for every workspace: whoever sits at the
 * sandbox.
 */
export const portalSessions: PortalSessions = {
  find: ({ ownerWorkspaceId }) => ({ workspaceIds: ownerWorkspaceId === null ? null : [ownerWorkspaceId] }),
};
