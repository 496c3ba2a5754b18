import { randomBytes } from 'node:crypto';
import type { StartGrantRequest } from '../../contract/connector/accounts.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import { createServiceClient, type ServiceClient } from '../service-client/service-client.ts';
import { ServiceError, ServiceRefusal } from '../service-client/service-errors.ts';
import type { AuthorizationServer, IssuedTokens } from './authorization-server.ts';
import {
  type ClosedFlow,
  flowId,
  insertFlow,
  noteFailure,
  type OpenFlow,
  readFlow,
  takeFlow,
  verifierContext,
} from './flow-store.ts';
import { mayReturnTo, type OauthApp } from './oauth-app.ts';
import { OauthRefusal } from './oauth-errors.ts';
import { type StoreGrantOptions, storeGrant } from './store-grant.ts';

/** A person reads, signs in, and perhaps asks somebody for a user code. */
const FLOW_LIFETIME_MS = 60 * 60_000;
/** What became of a flow can be read so much longer. */
const FORGET_AFTER_MS = 24 * 60 * 60_000;
/** Half a kilobyte is more than any state of ours. */
const LONGEST_STATE = 512;

export interface ConsentsOptions extends StoreGrantOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly server: AuthorizationServer;
  readonly app: OauthApp;
  /** Told of an account that is new or has a new grant. It is kept already; what this throws is logged. */
  readonly onGranted: (accountId: string) => Promise<void>;
  /** Gives a refresh token back that nobody needs any more. Never rejects. */
  readonly revoke: (refreshToken: string) => Promise<void>;
}

/** Where a customer is sent. */
export interface StartedConsent {
  readonly authorizationUrl: string;
  /** Epoch ms. */
  readonly expiresAt: number;
}

/**
 * How a callback ended:
 * - `connected`: the account is kept. `again`: it was before, by an earlier visit.
 * - `unknown`: no consent was begun with this state, or it was long ago.
 * - `used`: an earlier visit used it up and has not connected, or is still at it.
 * - `expired`: it took too long.
 * - `failed`: the code says why, see `OauthRefusal` and `OauthUnreachable`.
 */
export type ConsentEnd =
  | { readonly kind: 'connected'; readonly accountId: string; readonly again: boolean }
  | { readonly kind: 'unknown' | 'used' | 'expired' }
  | { readonly kind: 'failed'; readonly code: string };

/** A callback that is done with, and where its browser goes from here; null: nowhere. */
export interface FinishedConsent {
  readonly end: ConsentEnd;
  readonly returnUrl: string | null;
}

/** The outcome of a consent that would have put other numbers into an account. */
export const OTHER_NUMBERS = 'other_numbers';
/** Numbers of an account that are asked for one by one. */
const MOST_ASKED = 20;

/** The connections that an account has listed, those that nobody sees now included. */
async function readListed(db: Queryable, accountId: string): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `select connection_id as id from connector.connections
      where account_id = $1 and listed_at is not null and deleted_at is null order by visible desc, connection_id`,
    [accountId],
  );
  return rows.map(({ id }) => id);
}

/** Throws a `ServiceError` when the service does not say. */
async function isGranted(client: ServiceClient, id: string): Promise<boolean> {
  try {
    await client.getConnection(id);
    return true;
  } catch (error) {
    if (error instanceof ServiceRefusal && (error.status === 403 || error.status === 404)) return false;
    throw error;
  }
}

const UNKNOWN: FinishedConsent = { end: { kind: 'unknown' }, returnUrl: null };

/** Begins consents and finishes them. Any process can finish what another one has begun. */
export interface Consents {
  /** See `mayReturnTo`. */
  mayReturnTo(returnUrl: string): boolean;
  /** Throws a `ServiceError` when the authorization server cannot be found, or what the database throws. */
  begin(request: StartGrantRequest): Promise<StartedConsent>;
  /** Takes what the customer's browser brought back. Throws what the database throws. */
  finish(returned: URLSearchParams): Promise<FinishedConsent>;
}

/** Implements `OAuth 2.0`: authorization code, PKCE S256, `state` of one use, `iss`. */
export function createConsents(options: ConsentsOptions): Consents {
  const { database, keyRing, clock, logger, server } = options;

  /** Why a grant does not renew this account; null: it covers a number that the account has, or that has none. */
  async function findObjection(accountId: string, { accessToken }: IssuedTokens): Promise<string | null> {
    const known = await readListed(database, accountId);
    if (known.length === 0) return null;
    const client = createServiceClient({ baseUrl: options.baseUrl, token: () => accessToken, clock });
    try {
      const granted = new Set((await client.listConnections()).items.map(({ id }) => id));
      if (known.some((id) => granted.has(id))) return null;
      // A number whose licence has ended is in no list.
      for (const id of known.slice(0, MOST_ASKED)) if (await isGranted(client, id)) return null;
      return OTHER_NUMBERS;
    } catch (error) {
      if (error instanceof ServiceError) return error.code;
      throw error;
    }
  }

  /** The code was redeemed; what it brought is kept, or given back. */
  async function keep(flow: OpenFlow, issued: IssuedTokens): Promise<ConsentEnd> {
    const objection = flow.accountId === null ? null : await findObjection(flow.accountId, issued);
    if (objection !== null) {
      if (issued.refreshToken !== null) await options.revoke(issued.refreshToken);
      return await fail(flow, objection);
    }
    const stored = await storeGrant(options, flow, issued, clock.now()).catch(async (error: unknown) => {
      if (issued.refreshToken !== null) await options.revoke(issued.refreshToken);
      throw error;
    });
    if (stored === null) {
      if (issued.refreshToken !== null) await options.revoke(issued.refreshToken);
      return await fail(flow, 'account_removed');
    }
    logger.info({ accountId: stored.accountId }, 'a customer has consented');
    await options.onGranted(stored.accountId).catch((err: unknown) => {
      logger.warn({ err, accountId: stored.accountId }, 'a grant is kept, and is taken up later');
    });
    if (stored.replaced !== null) await options.revoke(stored.replaced);
    return { kind: 'connected', accountId: stored.accountId, again: false };
  }

  async function fail(flow: OpenFlow, code: string): Promise<ConsentEnd> {
    logger.warn({ errorCode: code }, 'a consent has brought no grant');
    await noteFailure(database, flow.id, code);
    return { kind: 'failed', code };
  }

  function explain({ outcome, accountId, usedAt }: ClosedFlow): ConsentEnd {
    if (outcome === 'connected' && accountId !== null) return { kind: 'connected', accountId, again: true };
    return { kind: usedAt === null ? 'expired' : 'used' };
  }

  /** Redeems the code of a flow that this callback has taken. */
  async function redeem(flow: OpenFlow, returned: URLSearchParams, state: string): Promise<ConsentEnd> {
    const codeVerifier = await keyRing.open(flow.sealedVerifier, verifierContext(flow.id));
    let issued: IssuedTokens;
    try {
      issued = await server.redeem(returned, { state, codeVerifier });
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      return await fail(flow, error instanceof OauthRefusal ? error.error : error.code);
    }
    return await keep(flow, issued);
  }

  return {
    mayReturnTo: (returnUrl) => mayReturnTo(options.app, returnUrl),
    async begin({ accountId, label, scopes, connectionIds, returnUrl }) {
      const state = randomBytes(32).toString('base64url');
      const codeVerifier = randomBytes(32).toString('base64url');
      const request = { state, codeVerifier, scopes, connectionIds };
      const authorizationUrl = await server.authorizationUrl(request);
      const id = flowId(state);
      const createdAt = clock.now();
      const expiresAt = createdAt + FLOW_LIFETIME_MS;
      const sealedVerifier = await keyRing.seal(codeVerifier, verifierContext(id));
      await insertFlow(
        database,
        {
          id,
          accountId: accountId ?? null,
          label: label ?? null,
          returnUrl: returnUrl ?? null,
          sealedVerifier,
          createdAt,
          expiresAt,
        },
        FORGET_AFTER_MS,
      );
      return { authorizationUrl, expiresAt };
    },
    async finish(returned) {
      const [state, ...others] = returned.getAll('state');
      if (state === undefined || others.length > 0 || state.length > LONGEST_STATE) return UNKNOWN;
      const id = flowId(state);
      const taken = await takeFlow(database, id, clock.now());
      if (taken !== null) return { end: await redeem(taken, returned, state), returnUrl: taken.returnUrl };
      const closed = await readFlow(database, id);
      return closed === null ? UNKNOWN : { end: explain(closed), returnUrl: closed.returnUrl };
    },
  };
}
