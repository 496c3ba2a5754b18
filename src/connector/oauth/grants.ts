import { randomUUID } from 'node:crypto';
import {
  createSingleFlightRefresh,
  type SingleFlightRefresh,
  type Versioned,
} from '../../patterns/single-flight-refresh.ts';
import { backOffMs } from '../../runtime/clock/back-off.ts';
import { type Repeat, repeat } from '../../runtime/clock/repeat.ts';
import type { Metrics } from '../../runtime/metrics/metrics.ts';
import { equalSecrets } from '../../runtime/sealing/equal-secrets.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import { type CredentialSource, NoCredential } from '../accounts/credential-source.ts';
import type { Base } from '../db/base.ts';
import { retryCommit } from '../db/retry-commit.ts';
import { ServiceError } from '../service-client/service-errors.ts';
import {
  type AuthorizationServer,
  CALL_DEADLINE_MS,
  callTwice,
  type IssuedTokens,
} from './authorization-server.ts';
import {
  claimRefresh,
  endGrant,
  listAgeing,
  noteRefreshFailed,
  openTokens,
  REFRESH_BACK_OFF,
  type RefreshClaim,
  readGrant,
  sealTokens,
  storeRefreshed,
  type TokenPair,
} from './grant-store.ts';
import { OauthRefusal, ReauthRequired, RefreshDelayed } from './oauth-errors.ts';

/**
 * Two calls that each read the discovery document first, the attempts to store, and a margin. After this time without a
 * result, another process takes the refresh over.
 */
const CLAIM_TTL_MS = 4 * CALL_DEADLINE_MS + 25_000;
/** Waiting processes wait longer than one expiry, so that the death of an owner does not fail them. */
const LONGEST_WAIT_MS = CLAIM_TTL_MS + 15_000;
const AWAIT_EVERY_MS = 100;

/** The outcome of a refresh that was sent, for metrics. */
export type RefreshEnd = 'refreshed' | 'ended' | 'failed';

/** Counts the refreshes of this process. */
export function countRefreshes(metrics: Metrics): (end: RefreshEnd) => void {
  const outcome = { name: 'outcome', values: ['refreshed', 'ended', 'failed'] };
  const refreshes = metrics.counter(
    'connector_oauth_refreshes_total',
    'Token refreshes, by outcome.',
    outcome,
  );
  return (end) => refreshes.inc({ outcome: end });
}

interface RefreshGrantOptions extends Base {
  readonly keyRing: KeyRing;
  readonly server: AuthorizationServer;
  /** Identifies this process. */
  readonly owner: string;
  /** Aborts when the process stops, so that it does not wait for other processes. */
  readonly closing: AbortSignal;
  /** Called with the outcome of each refresh that this process made. */
  readonly onEnd: (end: RefreshEnd) => void;
}

/** The stored tokens of an account. Throws `NoCredential`, and `ReauthRequired` if the grant has ended. */
async function loadTokens(
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
async function refreshGrant(
  options: RefreshGrantOptions,
  accountId: string,
  stored: Versioned<TokenPair>,
): Promise<Versioned<TokenPair>> {
  const { database, clock } = options;
  const claim = { accountId, version: stored.version, owner: `${options.owner}/${randomUUID()}` };
  const deadline = clock.elapsed() + LONGEST_WAIT_MS;
  let other: SeenClaim | undefined;
  for (;;) {
    const ranOut = other !== undefined && clock.elapsed() - other.since >= CLAIM_TTL_MS;
    const silent = ranOut ? (other?.owner ?? null) : null;
    const times = { now: clock.now(), ttlMs: CLAIM_TTL_MS, silent };
    const failures = await claimRefresh(database, claim, times);
    if (failures !== null) return await refreshClaimed(options, claim, stored.token, failures);
    const row = await readGrant(database, accountId);
    if (row === null || row.endedAt !== null || row.version > stored.version)
      return await loadTokens(options, accountId);
    const { refreshOwner, notBefore } = row;
    if (refreshOwner === null && notBefore !== null && notBefore > times.now)
      throw new RefreshDelayed(row.lastErrorCode ?? 'oauth_failed');
    if (refreshOwner === null) other = undefined;
    else if (refreshOwner !== other?.owner) other = { owner: refreshOwner, since: clock.elapsed() };
    if (clock.elapsed() > deadline || options.closing.aborted) throw new RefreshDelayed('oauth_busy');
    await clock.sleep(AWAIT_EVERY_MS, options.closing).catch(() => undefined);
  }
}

/**
 * The claim of another process, and since when this one has seen it, by its own monotonic clock: times of two processes
 * are not compared, because one that was ahead would use a refresh token a second time.
 */
interface SeenClaim {
  readonly owner: string;
  readonly since: number;
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
    issued = await callTwice(options.logger, () => options.server.refresh(refreshToken));
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

/** New tokens are committed before they are used. If they cannot be, they are lost, and usually the grant with them. */
async function storeIssued(
  options: RefreshGrantOptions,
  claim: RefreshClaim,
  issued: IssuedTokens,
): Promise<Versioned<TokenPair>> {
  const { database, keyRing, clock, logger, server, onEnd } = options;
  const { accountId } = claim;
  const now = clock.now();
  const sealed = { ...(await sealTokens(keyRing, accountId, issued, now)), scope: issued.scope };
  let isCertain = true;
  const stored = await retryCommit(
    clock,
    () => storeRefreshed(database, claim, sealed, now),
    (err) => {
      isCertain = false;
      logger.warn({ err, accountId }, 'new tokens could not be stored; retrying');
    },
  );
  onEnd('refreshed');
  // A new consent was given or the account was removed in the meantime: these tokens will never be used. After a lost
  // answer of the database, the stored ones may be these.
  if (!stored && isCertain && issued.refreshToken !== null)
    await server.revoke(issued.refreshToken).catch(() => undefined);
  return await loadTokens(options, accountId);
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
  const notBefore = clock.now() + backOffMs(failures, REFRESH_BACK_OFF);
  // If the database is unavailable, the claim expires by itself.
  await noteRefreshFailed(database, claim, code, notBefore).catch((err: unknown) =>
    logger.warn({ err, accountId: claim.accountId }, 'a failed token refresh could not be stored'),
  );
}

/** A token that expires sooner is not used, because it could expire on the way. */
const USABLE_MS = 30_000;
/** Tokens in memory are read again after this time, so that a new consent through another process is noticed. */
const FRESH_MS = 5_000;

/** The access tokens of all grants, in one process. */
export type GrantCredentials = ReturnType<typeof createGrantCredentials>;

/** How long no other refresh follows one whose token was refused at once: the next one would be refused as well. */
const USELESS_MS = 60_000;

interface Held {
  readonly flight: SingleFlightRefresh<TokenPair>;
  /** The newest pair that was refused as soon as a 401 had led to it, and when. */
  useless?: { readonly version: number; readonly at: number };
  known: { readonly pair: Versioned<TokenPair>; readonly readAt: number } | undefined;
}

/** Creates the only component of a process that reads and refreshes tokens. */
export function createGrantCredentials(options: RefreshGrantOptions) {
  const { clock } = options;
  const held = new Map<string, Held>();

  async function read(accountId: string): Promise<Versioned<TokenPair>> {
    const readAt = clock.elapsed();
    try {
      return keep(accountId, await loadTokens(options, accountId), readAt);
    } catch (error) {
      grantOf(accountId).known = undefined;
      throw error;
    }
  }

  function keep(accountId: string, pair: Versioned<TokenPair>, readAt: number): Versioned<TokenPair> {
    grantOf(accountId).known = { pair, readAt };
    return pair;
  }

  function grantOf(accountId: string): Held {
    const known = held.get(accountId);
    if (known !== undefined) return known;
    const flight = createSingleFlightRefresh<TokenPair>({
      load: () => read(accountId),
      renew: async (stored) => {
        const readAt = clock.elapsed();
        return keep(accountId, await refreshGrant(options, accountId, stored), readAt);
      },
    });
    const fresh: Held = { flight, known: undefined };
    held.set(accountId, fresh);
    return fresh;
  }

  async function currentToken(accountId: string): Promise<string> {
    const { known } = grantOf(accountId);
    const isFresh = known !== undefined && clock.elapsed() - known.readAt < FRESH_MS;
    const pair = isFresh ? known.pair : await read(accountId);
    if (isUsable(pair.token, clock.now())) return pair.token.accessToken;
    return (await grantOf(accountId).flight.newerThan(pair.version)).token.accessToken;
  }

  async function renew(accountId: string, refused: string): Promise<string> {
    const pair = await read(accountId);
    const { useless, flight } = grantOf(accountId);
    const isUseless = useless?.version === pair.version && clock.elapsed() - useless.at < USELESS_MS;
    if (isUseless || !equalSecrets(pair.token.accessToken, refused)) return pair.token.accessToken;
    return (await flight.newerThan(pair.version)).token.accessToken;
  }

  /** The credential of an account of kind `oauth`. */
  const of = (accountId: string): CredentialSource => ({
    token: () => currentToken(accountId),
    renew: (refused) => renew(accountId, refused),
    onRefusedAgain(token) {
      const grant = grantOf(accountId);
      const pair = grant.known?.pair;
      if (pair !== undefined && equalSecrets(pair.token.accessToken, token))
        grant.useless = { version: pair.version, at: clock.elapsed() };
    },
  });

  return {
    of,
    /** Refreshes a version, unless that has been done. Throws what refreshing throws. */
    async refresh(accountId: string, version: number): Promise<void> {
      await grantOf(accountId).flight.newerThan(version);
    },
  };
}

function isUsable({ expiresAt }: TokenPair, now: number): boolean {
  return expiresAt - now > USABLE_MS;
}

const LOOK_EVERY_MS = 20_000;
/** An access token is refreshed this long before its end, or earlier by up to the jitter. */
const EARLY_MS = 3 * 60_000;
const JITTER_MS = 60_000;
const MAX_CONCURRENT = 8;
const MAX_AT_A_LOOK = 500;

export interface GrantKeeperOptions extends Base {
  readonly credentials: GrantCredentials;
  /** The subscription of the app whose grants are refreshed. */
  readonly subscriptionId: string;
  /** Between 0 and 1; spreads the refreshes of many grants and several processes. */
  readonly random: () => number;
}

/**
 * Refreshes access tokens before they expire, so that no call waits and no unused grant expires. Runs in workers.
 * Every process checks, without a lease: the claim on the row of the tokens already ensures that one process
 * refreshes a version. The claim has an expiry because a refresh token must not be used twice. A lease would
 * protect the same call a second time.
 */
export function createGrantKeeper(options: GrantKeeperOptions): Repeat {
  const { database, clock, logger, credentials, subscriptionId, random } = options;

  async function keep(stopping: AbortSignal): Promise<void> {
    const now = clock.now();
    const times = { now, before: now + EARLY_MS + JITTER_MS, limit: MAX_AT_A_LOOK };
    const due = (await listAgeing(database, subscriptionId, times)).filter(
      ({ accessExpiresAt }) => accessExpiresAt - now <= EARLY_MS + random() * JITTER_MS,
    );
    const next = due.values();
    const worker = async (): Promise<void> => {
      for (const { accountId, version } of next) {
        if (stopping.aborted) return;
        // The failure was stored where it occurred, and callers that need the token receive it.
        await credentials.refresh(accountId, version).catch((err: unknown) => {
          if (!(err instanceof ServiceError))
            logger.warn({ err, accountId }, 'a grant could not be refreshed');
        });
      }
    };
    await Promise.all(Array.from({ length: MAX_CONCURRENT }, worker));
  }

  return repeat({
    clock,
    everyMs: LOOK_EVERY_MS,
    run: keep,
    onError: (err) => logger.warn({ err }, 'the grants could not be read; retrying soon'),
  });
}
