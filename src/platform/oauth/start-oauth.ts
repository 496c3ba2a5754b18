import type { Router } from 'express';
import type { Database } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { CallShell } from '../calls/call-shell.ts';
import type { BaseUrls } from '../kernel/base-urls.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import type { ChangeState } from '../time/state-change.ts';
import type { WebhookConfiguration } from '../webhooks/configuration.ts';
import { type AccessTokens, createAccessTokens } from './access-tokens.ts';
import { createOauthApps, type OauthApps } from './apps.ts';
import { createCleanUp } from './clean-up.ts';
import { createPortalApprovals, type PortalApprovals } from './consent/portal-approvals.ts';
import { createOauthGrants, type OauthGrants } from './grants.ts';
import { createOauthRouter } from './oauth-router.ts';
import { createOauthRoutes } from './oauth-routes.ts';
import { noPortalSessions, type PortalSessions } from './portal-session.ts';
import { loadSigningKeys } from './signing-keys.ts';

interface Options {
  readonly database: Database;
  readonly changeState: ChangeState;
  readonly clock: DomainClock;
  readonly logger: Logger;
  readonly baseUrls: () => BaseUrls;
  readonly webhooks: WebhookConfiguration;
  readonly portal: PortalSessions | undefined;
  /** Derives user codes. */
  readonly codeKey: Uint8Array;
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

/** Starts the authorization server. Loads the signing keys; the first start on a database creates one. */
export async function startOauth(options: Options): Promise<Oauth> {
  const { database, changeState, clock, logger, baseUrls, webhooks } = options;
  const { portal = noPortalSessions, codeKey } = options;
  const keys = await loadSigningKeys({ database, changeState, clock });
  const tokens = createAccessTokens({ keys, clock, baseUrls });
  const routes = createOauthRoutes({ database, changeState, clock, baseUrls, keys, tokens, portal, codeKey });
  const cleanUp = createCleanUp({ changeState, clock, logger });
  return {
    router: (shell) => createOauthRouter({ shell, routes, cleanUp }),
    tokens,
    apps: createOauthApps(database, changeState, webhooks),
    grants: createOauthGrants(database, changeState),
    approvals: createPortalApprovals(changeState, codeKey),
  };
}
