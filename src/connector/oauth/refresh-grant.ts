import { randomUUID } from 'node:crypto';
import type { Versioned } from '../../patterns/single-flight-refresh.ts';
import { backOffMs } from '../../runtime/clock/back-off.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { type Database, isConnectionFailure } from '../../runtime/database/database.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import { NoCredential } from '../accounts/credential-source.ts';
import { ServiceError } from '../service-client/service-errors.ts';
import { type AuthorizationServer, CALL_DEADLINE_MS, type IssuedTokens } from './authorization-server.ts';
import {
  claimRefresh,
  endGrant,
  noteRefreshFailed,
  openTokens,
  type RefreshClaim,
  readGrant,
  sealTokens,
  storeRefreshed,
  type TokenPair,
} from './grant-store.ts';
import { OauthRefusal, ReauthRequired, RefreshDelayed } from './oauth-errors.ts';

/**
 * Waits between attempts to store new tokens. If they cannot be stored they are lost, and usually the grant
 * with them.
 */
const STORE_TRIES_MS = [50, 200, 1_000, 2_000, 5_000];
/**
 * Two calls, the attempts to store, and a margin. After this time without a result, another process takes the
 * refresh over.
 */
export const CLAIM_TTL_MS = 2 * CALL_DEADLINE_MS + 25_000;
/** Waiting processes wait longer than one expiry, so that the death of an owner does not fail them. */
const LONGEST_WAIT_MS = CLAIM_TTL_MS + 15_000;
const LOOK_EVERY_MS = 100;
const BACK_OFF = { firstMs: 5_000, longestMs: 5 * 60_000 };

/** The outcome of a refresh that was sent, for metrics. */
export type RefreshEnd = 'refreshed' | 'ended' | 'failed';

export interface RefreshGrantOptions {
  readonly database: Database;
  readonly keyRing: KeyRing;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly server: AuthorizationServer;
  /** Identifies this process. */
  readonly owner: string;
  /** Aborts when the process stops, so that it does not wait for other processes. */
  readonly closing: AbortSignal;
  /** Called with the outcome of each refresh that this process made. */
  readonly onEnd: (end: RefreshEnd) => void;
}

/** The stored tokens of an account. Throws `NoCredential`, and `ReauthRequired` if the grant has ended. */
export async function loadTokens(
  { database, keyRing }: Pick<RefreshGrantOptions, 'database' | 'keyRing'>,
  accountId: string,
): Promise<Versioned<TokenPair>> {
  const row = await readGrant(database, accountId);
  if (row === null) throw new NoCredential('the account has no grant');
  if (row.endedAt !== null) throw new ReauthRequired();
  return { version: row.version, token: await openTokens(keyRing, row) };
}

/**
 * Replaces tokens with new ones: in this process if it can claim the version, otherwise by waiting for the
 * process that has claimed it. A process without the claim never refreshes the old token and never ends the
 * grant. Throws `ReauthRequired`, another `ServiceError`, or what the database throws.
 * [oauth.refresh.serialized]
 */
export async function refreshGrant(
  options: RefreshGrantOptions,
  accountId: string,
  stored: Versioned<TokenPair>,
): Promise<Versioned<TokenPair>> {
  const { database, clock } = options;
  const claim = { accountId, version: stored.version, owner: `${options.owner}/${randomUUID()}` };
  const deadline = clock.elapsed() + LONGEST_WAIT_MS;
  for (;;) {
    const now = clock.now();
    const failures = await claimRefresh(database, claim, now, CLAIM_TTL_MS);
    if (failures !== null) return await refreshClaimed(options, claim, stored.token, failures);
    const newer = await findNewer(options, claim);
    if (newer !== null) return newer;
    if (clock.elapsed() > deadline || options.closing.aborted) throw new RefreshDelayed('oauth_busy');
    await clock.sleep(LOOK_EVERY_MS, options.closing).catch(() => undefined);
  }
}

/** The tokens after the claimed version; null if they are not there yet. Throws if they will not be there soon. */
async function findNewer(
  options: RefreshGrantOptions,
  { accountId, version }: RefreshClaim,
): Promise<Versioned<TokenPair> | null> {
  const row = await readGrant(options.database, accountId);
  if (row === null || row.endedAt !== null || row.version > version)
    return await loadTokens(options, accountId);
  const failed = row.refreshOwner === null && row.notBefore !== null && row.notBefore > options.clock.now();
  if (failed) throw new RefreshDelayed(row.lastErrorCode ?? 'oauth_failed');
  return null;
}

async function refreshClaimed(
  options: RefreshGrantOptions,
  claim: RefreshClaim,
  { refreshToken }: TokenPair,
  failures: number,
): Promise<Versioned<TokenPair>> {
  const { onEnd } = options;
  let issued: IssuedTokens;
  try {
    if (refreshToken === null) throw new OauthRefusal('invalid_grant');
    issued = await callTwice(options, refreshToken);
  } catch (error) {
    if (error instanceof OauthRefusal && error.error === 'invalid_grant') {
      return await settleRefused(options, claim, error);
    }
    onEnd('failed');
    await giveBack(options, claim, error, failures + 1);
    // Whether the authorization server has acted does not matter for the call that needed the token: that call
    // was not made.
    throw error instanceof ServiceError ? new RefreshDelayed(error.code) : error;
  }
  return await storeIssued(options, claim, issued);
}

/**
 * After a lost answer, the same token is sent once more. If the server had rotated it, this ends a grant that
 * was already unusable; if not, it saves the grant.
 */
async function callTwice(
  { server, logger }: RefreshGrantOptions,
  refreshToken: string,
): Promise<IssuedTokens> {
  try {
    return await server.refresh(refreshToken);
  } catch (error) {
    if (!(error instanceof ServiceError) || !error.mayHaveActed) throw error;
    logger.warn(
      { err: error, errorCode: error.code },
      'the answer of a token refresh was lost; sending the request once more',
    );
    return await server.refresh(refreshToken);
  }
}

/** New tokens are committed before they are used. */
async function storeIssued(
  options: RefreshGrantOptions,
  claim: RefreshClaim,
  issued: IssuedTokens,
): Promise<Versioned<TokenPair>> {
  const { database, keyRing, clock, logger, server, onEnd } = options;
  const now = clock.now();
  const sealed = { ...(await sealTokens(keyRing, claim.accountId, issued, now)), scope: issued.scope };
  for (const waitMs of [...STORE_TRIES_MS, null]) {
    try {
      const stored = await storeRefreshed(database, claim, sealed, now);
      onEnd('refreshed');
      if (!stored && issued.refreshToken !== null) {
        // A new consent was given or the account was removed in the meantime: these tokens will never be used.
        await server.revoke(issued.refreshToken).catch(() => undefined);
      }
      return await loadTokens(options, claim.accountId);
    } catch (error) {
      if (waitMs === null || !isConnectionFailure(error)) throw error;
      logger.warn({ err: error, accountId: claim.accountId }, 'new tokens could not be stored; retrying');
      await clock.sleep(waitMs);
    }
  }
  throw new RefreshDelayed('oauth_not_stored');
}

/** The server refuses the token. If another process has stored a new version in the meantime, that one remains. */
async function settleRefused(
  options: RefreshGrantOptions,
  claim: RefreshClaim,
  error: OauthRefusal,
): Promise<Versioned<TokenPair>> {
  const { database, clock, logger, onEnd } = options;
  const ended = await endGrant(database, claim, error.error, clock.now());
  onEnd(ended ? 'ended' : 'failed');
  if (!ended) {
    const stored = await loadTokens(options, claim.accountId);
    if (stored.version > claim.version) return stored;
    // Its claim has expired, and the process that took it over is still refreshing.
    throw new RefreshDelayed('oauth_busy');
  }
  logger.error(
    { accountId: claim.accountId, errorCode: 'reauth_required', reason: error.error },
    'a grant has ended; the customer must consent again',
  );
  throw new ReauthRequired();
}

async function giveBack(
  { database, clock, logger }: RefreshGrantOptions,
  claim: RefreshClaim,
  error: unknown,
  failures: number,
): Promise<void> {
  const code = error instanceof ServiceError ? error.code : 'oauth_failed';
  logger.warn({ err: error, accountId: claim.accountId, errorCode: code }, 'a token refresh failed');
  const notBefore = clock.now() + backOffMs(failures, BACK_OFF);
  // If the database is unavailable, the claim expires by itself.
  await noteRefreshFailed(database, claim, code, notBefore).catch((err: unknown) =>
    logger.warn({ err, accountId: claim.accountId }, 'a failed token refresh could not be stored'),
  );
}
