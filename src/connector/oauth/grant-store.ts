import type { Queryable } from '../../runtime/database/database.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import { tokenContext } from '../db/sealed-columns.ts';
import type { IssuedTokens } from './authorization-server.ts';

/** The tokens of a grant, plain. They stay in memory. */
export interface TokenPair {
  readonly accessToken: string;
  readonly refreshToken: string | null;
  /** On our clock, epoch ms; null: the server did not say. */
  readonly expiresAt: number | null;
}

/** The tokens of a grant, as they are stored. */
export interface SealedPair {
  readonly sealedAccess: string;
  readonly sealedRefresh: string | null;
  readonly accessExpiresAt: number | null;
}

/** A grant as it is stored. Times in epoch milliseconds, ours. */
export interface GrantRow extends SealedPair {
  readonly accountId: string;
  readonly version: number;
  readonly refreshOwner: string | null;
  readonly lastErrorCode: string | null;
  readonly notBefore: number | null;
  /** Set: only a new consent helps. */
  readonly endedAt: number | null;
}

const COLUMNS = `account_id as "accountId", version, sealed_access_token as "sealedAccess",
  sealed_refresh_token as "sealedRefresh", access_expires_at as "accessExpiresAt",
  refresh_owner as "refreshOwner", last_error_code as "lastErrorCode", not_before as "notBefore",
  ended_at as "endedAt"`;

/** Seals what a server issued at `now`. A refresh that brings no refresh token keeps the one before. */
export async function sealTokens(
  keyRing: KeyRing,
  accountId: string,
  issued: IssuedTokens,
  now: number,
): Promise<SealedPair> {
  const { accessToken, refreshToken, expiresInMs } = issued;
  return {
    sealedAccess: await keyRing.seal(accessToken, tokenContext(accountId, 'access')),
    sealedRefresh:
      refreshToken === null ? null : await keyRing.seal(refreshToken, tokenContext(accountId, 'refresh')),
    accessExpiresAt: expiresInMs === null ? null : now + expiresInMs,
  };
}

/** Opens the tokens of a grant. Throws a `SealingError`. */
export async function openTokens(keyRing: KeyRing, row: GrantRow): Promise<TokenPair> {
  const { accountId, sealedAccess, sealedRefresh } = row;
  return {
    accessToken: await keyRing.open(sealedAccess, tokenContext(accountId, 'access')),
    refreshToken:
      sealedRefresh === null ? null : await keyRing.open(sealedRefresh, tokenContext(accountId, 'refresh')),
    expiresAt: row.accessExpiresAt,
  };
}

/** The grant of an account; null when it has none. */
export async function readGrant(db: Queryable, accountId: string): Promise<GrantRow | null> {
  const [row] = await db.query<GrantRow>(
    `select ${COLUMNS} from connector.oauth_grants where account_id = $1`,
    [accountId],
  );
  return row ?? null;
}

/** Whoever refreshes names the account, the version that is refreshed, and itself. */
export interface RefreshClaim {
  readonly accountId: string;
  readonly version: number;
  readonly owner: string;
}

/**
 * Takes the refresh of a version, for `ttlMs`, and returns how often it has failed in a row. Null: another process is at
 * it, the version has moved, the grant has ended, or a failure says to wait. Commit it before the call goes out.
 */
export async function claimRefresh(
  db: Queryable,
  { accountId, version, owner }: RefreshClaim,
  now: number,
  ttlMs: number,
): Promise<number | null> {
  const [claimed] = await db.query<{ failures: number }>(
    `update connector.oauth_grants set refresh_owner = $3, refresh_until = $5::bigint
      where account_id = $1 and version = $2 and ended_at is null
        and (refresh_owner is null or refresh_until <= $4::bigint)
        and (not_before is null or not_before <= $4::bigint)
      returning failures`,
    [accountId, version, owner, now, now + ttlMs],
  );
  return claimed?.failures ?? null;
}

/**
 * Stores a pair as the version that follows the claimed one, whoever holds the claim by now: a good pair is never
 * thrown away. False: the version has moved, or the grant has ended or is gone.
 */
export async function storeRefreshed(
  db: Queryable,
  { accountId, version }: RefreshClaim,
  pair: SealedPair & { readonly scope: string | null },
  now: number,
): Promise<boolean> {
  const rows = await db.query(
    `update connector.oauth_grants
        set version = version + 1, sealed_access_token = $3, access_expires_at = $5,
            sealed_refresh_token = coalesce($4, sealed_refresh_token), scope = coalesce($6, scope),
            refreshed_at = $7, refresh_owner = null, refresh_until = null, failures = 0,
            last_error_code = null, not_before = null
      where account_id = $1 and version = $2 and ended_at is null returning account_id`,
    [accountId, version, pair.sealedAccess, pair.sealedRefresh, pair.accessExpiresAt, pair.scope, now],
  );
  return rows.length > 0;
}

/** Lets the claim go after a failure that says nothing of the grant. Nobody refreshes before `notBefore`. */
export async function noteRefreshFailed(
  db: Queryable,
  { accountId, version, owner }: RefreshClaim,
  code: string,
  notBefore: number,
): Promise<void> {
  await db.query(
    `update connector.oauth_grants
        set refresh_owner = null, refresh_until = null, failures = failures + 1, last_error_code = $4,
            not_before = $5::bigint
      where account_id = $1 and version = $2 and refresh_owner = $3`,
    [accountId, version, owner, code, notBefore],
  );
}

/** Says that the server refuses this version for good. False: the version has moved, and nothing was written. */
export async function endGrant(
  db: Queryable,
  { accountId, version, owner }: RefreshClaim,
  reason: string,
  now: number,
): Promise<boolean> {
  const rows = await db.query(
    `update connector.oauth_grants
        set ended_at = $4, ended_reason = $5, refresh_owner = null, refresh_until = null, not_before = null
      where account_id = $1 and version = $2 and refresh_owner = $3 and ended_at is null returning account_id`,
    [accountId, version, owner, now, reason],
  );
  return rows.length > 0;
}

/** Grants of an app whose access token ends before `before`, or that say no end and are old; the most urgent first. */
export async function listAgeing(
  db: Queryable,
  subscriptionId: string,
  times: {
    readonly now: number;
    readonly before: number;
    readonly olderThan: number;
    readonly limit: number;
  },
): Promise<
  { readonly accountId: string; readonly version: number; readonly accessExpiresAt: number | null }[]
> {
  return await db.query(
    `select g.account_id as "accountId", g.version, g.access_expires_at as "accessExpiresAt"
       from connector.oauth_grants g join connector.accounts a on a.id = g.account_id
      where a.subscription_id = $1 and g.ended_at is null and g.sealed_refresh_token is not null
        and (g.access_expires_at <= $3::bigint or (g.access_expires_at is null and g.refreshed_at <= $4::bigint))
        and (g.not_before is null or g.not_before <= $2::bigint)
        and (g.refresh_owner is null or g.refresh_until <= $2::bigint)
      order by g.access_expires_at nulls last, g.account_id limit $5`,
    [subscriptionId, times.now, times.before, times.olderThan, times.limit],
  );
}
