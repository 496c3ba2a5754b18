import { randomBytes } from 'node:crypto';
import { and, eq, ne, sql } from 'drizzle-orm';
import { orm } from '../../runtime/database/orm.ts';
import { digest } from '../../runtime/sealing/digest.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import { renewCredential } from '../accounts/account-store.ts';
import { webhookUrl } from '../accounts/registrations.ts';
import { type Candidate, judgeAnswer, noServiceAt, type Objection } from '../accounts/settings-trial.ts';
import {
  addSubscription,
  readSubscription,
  storeAcceptedApp,
  storeConfiguredSecret,
} from '../accounts/subscription-store.ts';
import type { Audit } from '../audit/audit.ts';
import type { Base } from '../db/base.ts';
import { accounts } from '../db/schema.ts';
import { tokenContext } from '../db/sealed-columns.ts';
import { createServiceClient } from '../service-client/service-client.ts';
import { ServiceError, ServiceRefusal } from '../service-client/service-errors.ts';
import { type AuthorizationServer, createAuthorizationServer } from './authorization-server.ts';
import { createConsents } from './consents.ts';
import { createGrantCredentials, createGrantKeeper, type RefreshEnd } from './grants.ts';
import { appSubscriptionId, type OauthApp } from './oauth-app.ts';
import { OauthRefusal } from './oauth-errors.ts';

export interface OauthOptions extends Base {
  readonly app: OauthApp;
  readonly keyRing: KeyRing;
  readonly audit?: Audit | undefined;
  readonly onRefreshed: (end: RefreshEnd) => void;
  /** Identifies this process. */
  readonly owner: string;
  readonly random: () => number;
  /** Whether this process refreshes tokens that are not in use. */
  readonly keeps: boolean;
  /** Called for an account that is new or has a new grant. */
  readonly onGranted: (accountId: string, renewed: boolean) => Promise<void>;
}

/** The part of a process that acts as the OAuth app. */
export type Oauth = ReturnType<typeof createOauth>;

/** Creates everything that belongs to the OAuth app. */
export function createOauth(options: OauthOptions) {
  const { app, keyRing, clock, logger, keeps } = options;
  const subscriptionId = appSubscriptionId(app);
  const server = createAuthorizationServer(app, clock);
  const closing = new AbortController();
  const credentials = createGrantCredentials({
    ...options,
    server,
    closing: closing.signal,
    onEnd: options.onRefreshed,
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
    /** The subscription that the grants of the app share. */
    subscriptionId,
    app,
    credentials,
    /** The app of the settings, to be tried before it is used. */
    candidate: appCandidate(options, server),
    consents: createConsents({ ...options, server, baseUrl: app.baseUrl, subscriptionId, revoke }),
    /** Revokes the grant of a removed account at the service. One attempt, in the background. */
    revokeRemoved(accountId: string, sealedRefreshToken: string): void {
      const work = keyRing
        .open(sealedRefreshToken, tokenContext(accountId, 'refresh'))
        .then(revoke)
        .catch((err: unknown) =>
          logger.warn({ err, accountId }, 'the token of a removed account could not be decrypted'),
        )
        .finally(() => revoking.delete(work));
      revoking.add(work);
    },
    /** Starts to refresh grants. Call it once the app is accepted. Throws what the database throws. */
    async start(): Promise<void> {
      // First: a warning that fails must not leave the grants without a keeper.
      if (keeps) keeper.start();
      await warnOfOthers(options, subscriptionId);
    },
    /** Resolves when every grant that is due was refreshed and every revocation was attempted. */
    async settle(): Promise<void> {
      if (keeps) await keeper.runNow();
      await Promise.all(revoking);
    },
    async close(): Promise<void> {
      closing.abort();
      await keeper.stop();
      await Promise.all(revoking);
    },
  };
}

/** Accounts of another app cannot be used by this one. */
async function warnOfOthers(
  { database, logger }: Pick<Base, 'database' | 'logger'>,
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

/**
 * Stores the subscription of the app, with its secret if the settings contain one, and logs the address to
 * enter in the registration of the app. This is done at start, before any consent. Without a secret, the path
 * refuses every delivery, and polling finds everything. `publicUrl` is the address of the receiver; undefined if it is
 * below that of the connector. Throws a `SealingError`, or what the database throws.
 */
export async function ensureAppSubscription(
  { database, keyRing, clock, logger, audit }: Base & Pick<OauthOptions, 'keyRing' | 'audit'>,
  app: OauthApp,
  publicUrl?: string,
): Promise<void> {
  const { webhookSecret: secret } = app;
  const id = appSubscriptionId(app);
  await addSubscription(database, { id });
  const base = publicUrl ?? `${app.publicUrl.replace(/\/+$/, '')}/webhooks/messaging`;
  const address = { subscriptionId: id, url: webhookUrl(base, id) };
  if (secret === undefined) {
    logger.info(
      address,
      'webhook address of the OAuth app; SERVICE_CLIENT_WEBHOOK_SECRET is not set, so only polling finds its events',
    );
    return;
  }
  const changed = await storeConfiguredSecret(database, keyRing, { id, secret, now: clock.now() });
  const what = 'SERVICE_CLIENT_WEBHOOK_SECRET';
  if (changed) audit?.note('account.changed', { who: 'settings', what, id, result: 'ok' });
  logger.info(address, 'webhook address of the OAuth app');
}

const SETTINGS = 'the settings of the OAuth app';

/**
 * The OAuth app of the settings. It is tried without any token of a customer: the service must refuse an
 * invented access token, and the authorization server must refuse an invented refresh token with an answer that
 * shows that it knows the client.
 */
function appCandidate({ app, clock }: OauthOptions, server: AuthorizationServer): Candidate {
  const { baseUrl, authUrl, clientId, clientSecret } = app;
  const subject = appSubscriptionId(app);
  const ofApp = digest(JSON.stringify([baseUrl, authUrl, clientId, clientSecret]));
  const madeUp = (): string => randomBytes(32).toString('base64url');

  async function tryService(signal: AbortSignal): Promise<Objection | null> {
    try {
      await createServiceClient({ baseUrl, token: madeUp, clock }).listConnections(signal);
    } catch (error) {
      const isRefusal = error instanceof ServiceRefusal && (error.status === 401 || error.status === 403);
      if (!isRefusal) return judgeAnswer(error, baseUrl);
      // A proxy or another server that asks for a password in a different way.
      if (!error.hasCode) return noServiceAt(baseUrl, error.status);
    }
    return null;
  }

  async function tryClient(): Promise<Objection | null> {
    try {
      await server.refresh(madeUp());
      return null;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      return judgeFailure(error, new URL(authUrl).host);
    }
  }

  return {
    subject,
    setting: SETTINGS,
    digest: ofApp,
    async inUse(db) {
      const digest = (await readSubscription(db, subject))?.acceptedApp ?? null;
      return digest === null ? null : { digest, refused: false };
    },
    attempt: async (signal) => (await tryService(signal)) ?? (await tryClient()),
    async store(tx) {
      const isElsewhere = sql`${accounts.baseUrl} is distinct from ${baseUrl}`;
      const isIts = and(eq(accounts.kind, 'oauth'), eq(accounts.subscriptionId, subject), isElsewhere);
      await renewCredential(tx, isIts, { baseUrl });
      await storeAcceptedApp(tx, subject, ofApp);
      return [SETTINGS];
    },
  };
}

/** The server checks the client before the token. So any other answer means that it accepted the client. */
function judgeFailure(error: ServiceError, host: string): Objection | null {
  if (error instanceof OauthRefusal) {
    if (error.error !== 'invalid_client' && error.error !== 'unauthorized_client') return null;
    const problem = `is refused by ${host} (${error.error}), or SERVICE_CLIENT_ID is not that of the app. Copy both from where the app is registered.`;
    return { setting: 'SERVICE_CLIENT_SECRET', problem, isFinal: true };
  }
  if (error.code === 'oauth_absent') {
    const problem = `is not the address of an authorization server: ${host} has no discovery document. /.well-known/oauth-authorization-server must exist under this address.`;
    return { setting: 'SERVICE_AUTH_URL', problem, isFinal: true };
  }
  const problem = `is not used until the authorization server at ${host} has answered (${error.code}); retrying.`;
  return { setting: 'SERVICE_AUTH_URL', problem, isFinal: false };
}
