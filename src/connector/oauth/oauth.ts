import { and, eq, ne } from 'drizzle-orm';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Database } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { Metrics } from '../../runtime/metrics/metrics.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import type { Candidate } from '../accounts/settings-trial.ts';
import { accounts } from '../db/schema.ts';
import { tokenContext } from '../db/sealed-columns.ts';
import { appCandidate } from './app-candidate.ts';
import { createAuthorizationServer } from './authorization-server.ts';
import { type Consents, createConsents } from './consents.ts';
import { createGrantCredentials, type GrantCredentials } from './grant-credentials.ts';
import { createGrantKeeper } from './grant-keeper.ts';
import { appSubscriptionId, type OauthApp } from './oauth-app.ts';
import type { RefreshEnd } from './refresh-grant.ts';

export interface OauthOptions {
  readonly app: OauthApp;
  readonly database: Database;
  readonly keyRing: KeyRing;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Identifies this process. */
  readonly owner: string;
  readonly random: () => number;
  /** Whether this process refreshes tokens that are not in use. */
  readonly keeps: boolean;
  /** Called with the outcome of each refresh that this process made. */
  readonly onRefreshEnd: (end: RefreshEnd) => void;
  /** Called for an account that is new or has a new grant. */
  readonly onGranted: (accountId: string, renewed: boolean) => Promise<void>;
}

/** The part of a process that acts as the OAuth app. */
export interface Oauth {
  /** The subscription that the grants of the app share. */
  readonly subscriptionId: string;
  readonly app: OauthApp;
  readonly credentials: GrantCredentials;
  readonly consents: Consents;
  /** The app of the settings, to be tested before it is used. */
  readonly candidate: Candidate;
  /** Revokes the grant of a removed account at the service. One attempt, in the background. */
  revokeRemoved(accountId: string, sealedRefreshToken: string): void;
  /** Starts to refresh grants. Call it once the app is accepted. Throws what the database throws. */
  start(): Promise<void>;
  /** Resolves when every grant that is due was refreshed and every revocation was attempted. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

/** Creates everything that belongs to the OAuth app. */
export function createOauth(options: OauthOptions): Oauth {
  const { app, keyRing, clock, logger, keeps } = options;
  const subscriptionId = appSubscriptionId(app);
  const server = createAuthorizationServer(app, clock);
  const closing = new AbortController();
  const credentials = createGrantCredentials({
    ...options,
    server,
    closing: closing.signal,
    onEnd: options.onRefreshEnd,
  });
  const keeper = createGrantKeeper({ ...options, credentials, subscriptionId });
  const revoking = new Set<Promise<void>>();

  async function revoke(refreshToken: string): Promise<void> {
    await server.revoke(refreshToken).catch((err: unknown) => {
      // A grant ends by itself if it is not refreshed for 30 days.
      logger.warn({ err }, 'a grant that is no longer needed could not be revoked');
    });
  }

  return {
    subscriptionId,
    app,
    credentials,
    candidate: appCandidate(app, server, clock),
    consents: createConsents({ ...options, server, baseUrl: app.baseUrl, subscriptionId, revoke }),
    revokeRemoved(accountId, sealedRefreshToken) {
      const work = keyRing
        .open(sealedRefreshToken, tokenContext(accountId, 'refresh'))
        .then(revoke)
        .catch((err: unknown) =>
          logger.warn({ err, accountId }, 'the token of a removed account could not be decrypted'),
        )
        .finally(() => revoking.delete(work));
      revoking.add(work);
    },
    async start() {
      await warnOfOthers(options, subscriptionId);
      if (keeps) keeper.start();
    },
    async settle() {
      if (keeps) await keeper.keep();
      await Promise.all(revoking);
    },
    async close() {
      closing.abort();
      await keeper.close();
      await Promise.all(revoking);
    },
  };
}

/** Accounts of another app cannot be used by this one. */
async function warnOfOthers(
  { database, logger }: Pick<OauthOptions, 'database' | 'logger'>,
  subscriptionId: string,
): Promise<void> {
  const isOther = and(eq(accounts.kind, 'oauth'), ne(accounts.subscriptionId, subscriptionId));
  const count = await orm(database).$count(accounts, isOther);
  if (count > 0) {
    logger.warn(
      { count },
      'accounts of a different OAuth app are inactive; each needs a new consent, or the previous client id and address',
    );
  }
}

/** Counts the refreshes of this process. */
export function countRefreshes(metrics: Metrics): (end: RefreshEnd) => void {
  const refreshes = metrics.counter('connector_oauth_refreshes_total', 'Token refreshes, by outcome.', {
    name: 'outcome',
    values: ['refreshed', 'ended', 'failed'],
  });
  return (outcome) => refreshes.inc({ outcome });
}
