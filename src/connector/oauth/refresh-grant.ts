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
import { OauthRefusal, ReauthRequired, RefreshHeldUp } from './oauth-errors.ts';

/** Waits between tries to store a pair. An issued pair that is not stored is lost, and mostly the grant with it. */
const STORE_TRIES_MS = [50, 200, 1_000, 2_000, 5_000];
/** Two calls, the tries to store, and a margin. Others take a refresh over once its owner is silent for so long. */
export const CLAIM_TTL_MS = 2 * CALL_DEADLINE_MS + 25_000;
/** Those who wait outlive one owner that died. */
const LONGEST_WAIT_MS = CLAIM_TTL_MS + 15_000;
const LOOK_EVERY_MS = 100;
const BACK_OFF = { firstMs: 5_000, longestMs: 5 * 60_000 };

/** How a refresh on the wire ended, for metrics. */
export type RefreshEnd = 'refreshed' | 'ended' | 'failed';

export interface RefreshGrantOptions {
  readonly database: Database;
  readonly keyRing: KeyRing;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly server: AuthorizationServer;
  /** Names this process among all. */
  readonly owner: string;
  /** Aborts when the process stops: nobody waits for another process any more. */
  readonly closing: AbortSignal;
  /** Told how each refresh ended that this process made. */
  readonly onEnd: (end: RefreshEnd) => void;
}

/** The pair of an account as it is stored now. Throws `NoCredential`, and `ReauthRequired` when it has ended. */
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
 * Exchanges a pair for the next one: by this process if it can claim the version, else by waiting until whoever
 * has claimed it has moved it on. A loser never refreshes the old token and never gives the grant up.
 * Throws `ReauthRequired`, another `ServiceError`, or what the database throws. [oauth.refresh.serialized]
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
    if (clock.elapsed() > deadline || options.closing.aborted) throw new RefreshHeldUp('oauth_busy');
    await clock.sleep(LOOK_EVERY_MS, options.closing).catch(() => undefined);
  }
}

/** The pair after the claimed version; null while it is still to come. Throws when it will not come soon. */
async function findNewer(
  options: RefreshGrantOptions,
  { accountId, version }: RefreshClaim,
): Promise<Versioned<TokenPair> | null> {
  const row = await readGrant(options.database, accountId);
  if (row === null || row.endedAt !== null || row.version > version)
    return await loadTokens(options, accountId);
  const failed = row.refreshOwner === null && row.notBefore !== null && row.notBefore > options.clock.now();
  if (failed) throw new RefreshHeldUp(row.lastErrorCode ?? 'oauth_failed');
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
    // Whether the authorization server has acted says nothing of the call that wanted the token: it was not made.
    throw error instanceof ServiceError ? new RefreshHeldUp(error.code) : error;
  }
  return await storeIssued(options, claim, issued);
}

/**
 * After an answer that was lost the same token goes out once more. If the server had rotated it, that ends a grant
 * which nobody could have used any more; if it had not, it saves the grant.
 */
async function callTwice(
  { server, logger }: RefreshGrantOptions,
  refreshToken: string,
): Promise<IssuedTokens> {
  try {
    return await server.refresh(refreshToken);
  } catch (error) {
    if (!(error instanceof ServiceError) || !error.mayHaveActed) throw error;
    logger.warn({ err: error, errorCode: error.code }, 'the answer of a refresh was lost; asking once more');
    return await server.refresh(refreshToken);
  }
}

/** The pair is committed before anybody uses it. */
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
        // Somebody consented anew or removed the account meanwhile: nobody will ever use this pair.
        await server.revoke(issued.refreshToken).catch(() => undefined);
      }
      return await loadTokens(options, claim.accountId);
    } catch (error) {
      if (waitMs === null || !isConnectionFailure(error)) throw error;
      logger.warn({ err: error, accountId: claim.accountId }, 'new tokens could not be stored; trying again');
      await clock.sleep(waitMs);
    }
  }
  throw new RefreshHeldUp('oauth_not_stored');
}

/** The server refuses the token. If another process has moved the version meanwhile, that one stands. */
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
    // Its claim has run out, and whoever took it over is still at it.
    throw new RefreshHeldUp('oauth_busy');
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
  logger.warn({ err: error, accountId: claim.accountId, errorCode: code }, 'a refresh failed');
  const notBefore = clock.now() + backOffMs(failures, BACK_OFF);
  // Without the database the claim runs out by itself.
  await noteRefreshFailed(database, claim, code, notBefore).catch((err: unknown) =>
    logger.warn({ err, accountId: claim.accountId }, 'a failed refresh could not be noted'),
  );
}
