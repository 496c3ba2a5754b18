import type { Router } from 'express';
import type { Database } from '../../runtime/database/database.ts';
import type { CallShell } from '../calls/call-shell.ts';
import type { BaseUrls } from '../kernel/base-urls.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import type { ChangeState } from '../time/state-change.ts';
import type { WebhookConfiguration } from '../webhooks/configuration.ts';
import { type AccessTokens, createAccessTokens } from './access-tokens.ts';
import { createOauthApps, type OauthApps } from './apps.ts';
import { createPortalApprovals, type PortalApprovals } from './consent/portal-approvals.ts';
import { createOauthGrants, type OauthGrants } from './grants.ts';
import { createOauthRouter } from './oauth-router.ts';
import { createOauthRoutes } from './oauth-routes.ts';
import { noPortalSessions, type PortalSessions } from './portal-session.ts';
import { loadSigningKey } from './signing-key.ts';

interface Options {
  readonly database: Database;
  readonly changeState: ChangeState;
  readonly clock: DomainClock;
  readonly baseUrls: () => BaseUrls;
  readonly webhooks: WebhookConfiguration;
  readonly portal: PortalSessions | undefined;
}

/** The authorization server, and what the rest of the service uses of it. */
export interface Oauth {
  /** Serves the paths below the issuer. */
  router(shell: CallShell): Router;
  readonly tokens: AccessTokens;
  readonly apps: OauthApps;
  readonly grants: OauthGrants;
  readonly approvals: PortalApprovals;
}

/** Starts the authorization server. Loads the signing key; the first start on a database creates it. */
export async function startOauth(options: Options): Promise<Oauth> {
  const { database, changeState, clock, baseUrls, webhooks } = options;
  const { portal = noPortalSessions } = options;
  const key = await loadSigningKey(database);
  const tokens = createAccessTokens({ key, clock, baseUrls });
  const routes = createOauthRoutes({ database, changeState, clock, baseUrls, key, tokens, portal });
  return {
    router: (shell) => createOauthRouter({ shell, routes }),
    tokens,
    apps: createOauthApps(database, changeState, webhooks),
    grants: createOauthGrants(database, changeState),
    approvals: createPortalApprovals(changeState),
  };
}
