import type { PortalSessions } from '../platform/oauth/portal-session.ts';

/**
 * Who is signed in to the developer portal: the developer of an app, wherever that app sends its user. An app
 * whose developer has no workspace here meets somebody who may speak for every workspace: whoever sits at the
 * sandbox. `hidden` are workspaces that nobody is shown.
 */
export function portalSessions(hidden: readonly string[]): PortalSessions {
  return {
    find: ({ ownerWorkspaceId }) =>
      ownerWorkspaceId === null
        ? { name: 'the user of the sandbox', workspaceIds: null, except: hidden }
        : { name: 'the developer of this app', workspaceIds: [ownerWorkspaceId] },
  };
}
