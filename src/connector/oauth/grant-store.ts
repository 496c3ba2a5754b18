import { and, eq, gt, isNotNull, isNull, lte, or, type SQL, sql } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import { accounts, oauthGrants } from '../db/schema.ts';
import { tokenContext } from '../db/sealed-columns.ts';
import type { IssuedTokens } from './authorization-server.ts';

/** The tokens of a grant, decrypted. They are kept only in memory. */
export interface TokenPair {
  readonly accessToken: string;
  readonly refreshToken: string | null;
  /** On our clock, epoch ms. */
  readonly expiresAt: number;
}

/** A stored grant. Times in epoch milliseconds of our clock. */
export type GrantRow = typeof oauthGrants.$inferSelect;

export type SealedPair = Pick<GrantRow, 'sealedAccessToken' | 'sealedRefreshToken' | 'accessExpiresAt'>;

/** Seals what a server issued at `now`. If a refresh returns no refresh token, the previous one is kept. */
export async function sealTokens(
  keyRing: KeyRing,
  accountId: string,
  issued: IssuedTokens,
  now: number,
): Promise<SealedPair> {
  const { accessToken, refreshToken, expiresInMs } = issued;
  return {
    sealedAccessToken: await keyRing.seal(accessToken, tokenContext(accountId, 'access')),
    sealedRefreshToken:
      refreshToken === null ? null : await keyRing.seal(refreshToken, tokenContext(accountId, 'refresh')),
    accessExpiresAt: now + expiresInMs,
  };
}

/** Decrypts the tokens of a grant. Throws a `SealingError`. */
export async function openTokens(keyRing: KeyRing, row: GrantRow): Promise<TokenPair> {
  const { accountId, sealedAccessToken, sealedRefreshToken } = row;
  return {
    accessToken: await keyRing.open(sealedAccessToken, tokenContext(accountId, 'access')),
    refreshToken:
      sealedRefreshToken === null
        ? null
        : await keyRing.open(sealedRefreshToken, tokenContext(accountId, 'refresh')),
    expiresAt: row.accessExpiresAt,
  };
}

const g = oauthGrants;
const RELEASED = { refreshOwner: null, refreshUntil: null };
const UNFAILED = { ...RELEASED, failures: 0, lastErrorCode: null, notBefore: null };
const NEXT_VERSION = sql`${g.version} + 1`;

/** The grant of an account; null if it has none. */
export async function readGrant(db: Queryable, accountId: string): Promise<GrantRow | null> {
  const [row] = await orm(db).select().from(g).where(eq(g.accountId, accountId));
  return row ?? null;
}

/**
 * Stores the result of a consent. A refresh in progress names the previous version, so it no longer changes
 * anything.
 */
export async function putGrant(
  db: Queryable,
  grant: SealedPair & Pick<GrantRow, 'accountId' | 'scope' | 'refreshedAt'>,
): Promise<void> {
  const set = { ...grant, ...UNFAILED, version: NEXT_VERSION, endedAt: null, endedReason: null };
  await orm(db).insert(oauthGrants).values(grant).onConflictDoUpdate({ target: g.accountId, set });
}

/** A refresh names the account, the version that is refreshed, and its owner. */
export interface RefreshClaim {
  readonly accountId: string;
  readonly version: number;
  readonly owner: string;
}

/** The grant at the version of a claim. */
function at({ accountId, version }: RefreshClaim): SQL | undefined {
  return and(eq(g.accountId, accountId), eq(g.version, version));
}

/** The waits after failed refreshes. */
export const REFRESH_BACK_OFF = { firstMs: 5_000, longestMs: 5 * 60_000 };

/** No failure requires waiting. A wait that lies further ahead than any was planned by a clock that is wrong. */
function isWaitOver(now: number): SQL | undefined {
  return or(isNull(g.notBefore), lte(g.notBefore, now), gt(g.notBefore, now + REFRESH_BACK_OFF.longestMs));
}

/** How long a claim lasts, see `claimRefresh`. */
export interface ClaimTimes {
  readonly now: number;
  readonly ttlMs: number;
  /** The owner of a claim that the caller has seen for so long that it has run out; null if there is none. */
  readonly silent: string | null;
}

/**
 * Claims the refresh of a version for `ttlMs`, and returns how often it has failed in a row. Null if another
 * process is refreshing it, the version has changed, the grant has ended, or a failure requires waiting. Commit
 * it before the call.
 */
export async function claimRefresh(
  db: Queryable,
  claim: RefreshClaim,
  { now, ttlMs, silent }: ClaimTimes,
): Promise<number | null> {
  const isUnclaimed = silent === null ? isNull(g.refreshOwner) : eq(g.refreshOwner, silent);
  const [claimed] = await orm(db)
    .update(oauthGrants)
    .set({ refreshOwner: claim.owner, refreshUntil: now + ttlMs })
    .where(and(at(claim), isNull(g.endedAt), isUnclaimed, isWaitOver(now)))
    .returning({ failures: g.failures });
  return claimed?.failures ?? null;
}

/**
 * Stores new tokens as the version after the claimed one, even if another process has the claim now: valid
 * tokens are never discarded. Values that the server did not state are unchanged. False if the version has
 * changed, or the grant has ended or is gone.
 */
export async function storeRefreshed(
  db: Queryable,
  claim: RefreshClaim,
  { sealedRefreshToken, scope, ...pair }: SealedPair & Pick<GrantRow, 'scope'>,
  now: number,
): Promise<boolean> {
  const kept = { sealedRefreshToken: sealedRefreshToken ?? undefined, scope: scope ?? undefined };
  const rows = await orm(db)
    .update(oauthGrants)
    .set({ ...pair, ...kept, ...UNFAILED, version: NEXT_VERSION, refreshedAt: now })
    .where(and(at(claim), isNull(g.endedAt)))
    .returning({ version: g.version });
  return rows.length > 0;
}

/** Releases the claim after a failure that says nothing about the grant. No refresh starts before `notBefore`. */
export async function noteRefreshFailed(
  db: Queryable,
  claim: RefreshClaim,
  code: string,
  notBefore: number,
): Promise<void> {
  await orm(db)
    .update(oauthGrants)
    .set({ ...RELEASED, failures: sql`${g.failures} + 1`, lastErrorCode: code, notBefore })
    .where(and(at(claim), eq(g.refreshOwner, claim.owner)));
}

/**
 * Stores that the server refuses this version permanently. False if the version has changed, and nothing was
 * written.
 */
export async function endGrant(
  db: Queryable,
  claim: RefreshClaim,
  reason: string,
  now: number,
): Promise<boolean> {
  const rows = await orm(db)
    .update(oauthGrants)
    .set({ ...RELEASED, endedAt: now, endedReason: reason, notBefore: null })
    .where(and(at(claim), eq(g.refreshOwner, claim.owner), isNull(g.endedAt)))
    .returning({ version: g.version });
  return rows.length > 0;
}

/** Grants of an app whose access token expires before `before`, the most urgent first. */
export async function listAgeing(
  db: Queryable,
  subscriptionId: string,
  times: {
    readonly now: number;
    readonly before: number;
    readonly limit: number;
  },
) {
  const { accountId, version, accessExpiresAt } = g;
  return await orm(db)
    .select({ accountId, version, accessExpiresAt })
    .from(g)
    .innerJoin(accounts, eq(accounts.id, accountId))
    .where(
      and(
        eq(accounts.subscriptionId, subscriptionId),
        isNull(g.endedAt),
        isNotNull(g.sealedRefreshToken),
        lte(accessExpiresAt, times.before),
        or(isNull(g.refreshOwner), lte(g.refreshUntil, times.now)),
        isWaitOver(times.now),
      ),
    )
    .orderBy(accessExpiresAt, accountId)
    .limit(times.limit);
}
