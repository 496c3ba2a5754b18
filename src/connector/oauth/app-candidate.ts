import { randomBytes } from 'node:crypto';
import { and, eq, sql } from 'drizzle-orm';
import type { Clock } from '../../runtime/clock/clock.ts';
import { digest } from '../../runtime/sealing/digest.ts';
import { renewCredential } from '../accounts/account-store.ts';
import { judgeAnswer, noServiceAt } from '../accounts/judge-answer.ts';
import type { Candidate, Verdict } from '../accounts/settings-trial.ts';
import { readSubscription, storeAcceptedApp } from '../accounts/subscription-store.ts';
import { accounts } from '../db/schema.ts';
import { createServiceClient } from '../service-client/service-client.ts';
import { ServiceError, ServiceRefusal } from '../service-client/service-errors.ts';
import type { AuthorizationServer } from './authorization-server.ts';
import { appSubscriptionId, type OauthApp } from './oauth-app.ts';
import { OauthRefusal } from './oauth-errors.ts';

const SETTINGS = 'the settings of the OAuth app';

/**
 * The OAuth app of the settings. It is tested without any token of a customer: the service must refuse an
 * invented access token, and the authorization server must refuse an invented refresh token with an answer that
 * shows that it knows the client.
 */
export function appCandidate(app: OauthApp, server: AuthorizationServer, clock: Clock): Candidate {
  const subject = appSubscriptionId(app);
  return {
    subject,
    setting: SETTINGS,
    digest: digestOfApp(app),
    async inUse(db) {
      const digest = (await readSubscription(db, subject))?.acceptedApp ?? null;
      return digest === null ? null : { digest, refused: false };
    },
    async attempt(signal) {
      const service = await tryService(app.baseUrl, clock, signal);
      return service.kind === 'accepted' ? await tryClient(app, server) : service;
    },
    async store(tx) {
      const { kind, subscriptionId, baseUrl } = accounts;
      const isElsewhere = sql`${baseUrl} is distinct from ${app.baseUrl}`;
      const ofApp = and(eq(kind, 'oauth'), eq(subscriptionId, subject), isElsewhere);
      await renewCredential(tx, ofApp, { baseUrl: app.baseUrl });
      await storeAcceptedApp(tx, subject, digestOfApp(app));
      return [SETTINGS];
    },
  };
}

function digestOfApp({ baseUrl, authUrl, clientId, clientSecret }: OauthApp): string {
  return digest(JSON.stringify([baseUrl, authUrl, clientId, clientSecret]));
}

function madeUp(): string {
  return randomBytes(32).toString('base64url');
}

async function tryService(baseUrl: string, clock: Clock, signal: AbortSignal): Promise<Verdict> {
  try {
    await createServiceClient({ baseUrl, token: madeUp, clock }).listConnections(signal);
  } catch (error) {
    const isRefusal = error instanceof ServiceRefusal && (error.status === 401 || error.status === 403);
    if (!isRefusal) return judgeAnswer(error, baseUrl);
    // A proxy or another server that asks for a password in a different way.
    if (!error.hasCode) return noServiceAt(baseUrl, error.status);
  }
  return { kind: 'accepted' };
}

async function tryClient({ authUrl }: OauthApp, server: AuthorizationServer): Promise<Verdict> {
  try {
    await server.refresh(madeUp());
    return { kind: 'accepted' };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return judgeFailure(error, new URL(authUrl).host);
  }
}

/** The server checks the client before the token. So any other answer means that it accepted the client. */
function judgeFailure(error: ServiceError, host: string): Verdict {
  if (error instanceof OauthRefusal) {
    if (error.error !== 'invalid_client' && error.error !== 'unauthorized_client')
      return { kind: 'accepted' };
    const problem = `is refused by ${host} (${error.error}), or SERVICE_CLIENT_ID is not that of the app. Copy both from where the app is registered.`;
    return { kind: 'refused', problem: { setting: 'SERVICE_CLIENT_SECRET', problem } };
  }
  if (error.code === 'oauth_absent') {
    const problem = `is not the address of an authorization server: ${host} has no discovery document. /.well-known/oauth-authorization-server must exist under this address.`;
    return { kind: 'refused', problem: { setting: 'SERVICE_AUTH_URL', problem } };
  }
  const problem = `is not used until the authorization server at ${host} has answered (${error.code}); retrying.`;
  return { kind: 'undecided', problem: { setting: 'SERVICE_AUTH_URL', problem }, retryAfterMs: null };
}
