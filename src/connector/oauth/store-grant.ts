import { randomUUID } from 'node:crypto';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import type { IssuedTokens } from './authorization-server.ts';
import { type Flow, noteConnected } from './flow-store.ts';
import { type GrantRow, openTokens, readGrant, type SealedPair, sealTokens } from './grant-store.ts';

export interface StoreGrantOptions {
  readonly database: Database;
  readonly keyRing: KeyRing;
  /** `{base_url}` of the service. */
  readonly baseUrl: string;
  /** The subscription of the app. */
  readonly subscriptionId: string;
}

/** What came of storing a grant. */
export interface StoredGrant {
  readonly accountId: string;
  /** The refresh token that was in its place before and may still be good; null: there was none. */
  readonly replaced: string | null;
}

/**
 * Keeps what a consent brought, as a new account or in place of the grant that an account had before. Everything
 * else of that account stays, and what waited for the consent goes on. Null: the account was removed meanwhile.
 * Throws what the database throws; then nothing is kept.
 */
export async function storeGrant(
  options: StoreGrantOptions,
  flow: Flow,
  issued: IssuedTokens,
  now: number,
): Promise<StoredGrant | null> {
  const { database, keyRing } = options;
  const accountId = flow.accountId ?? randomUUID();
  const pair = await sealTokens(keyRing, accountId, issued, now);
  const before = await database.transaction(async (tx): Promise<GrantRow | null | 'gone'> => {
    if (flow.accountId === null) await insertAccount(tx, options, flow, accountId, now);
    else if (!(await renewAccount(tx, options, flow, accountId))) return 'gone';
    const replaced = await readGrant(tx, accountId);
    await putGrant(tx, accountId, pair, issued.scope, now);
    await resumePolls(tx, accountId);
    await noteConnected(tx, flow.id, accountId);
    return replaced;
  });
  if (before === 'gone') return null;
  const stillGood = before !== null && before.endedAt === null;
  return { accountId, replaced: stillGood ? (await openTokens(keyRing, before)).refreshToken : null };
}

async function insertAccount(
  tx: Queryable,
  { baseUrl, subscriptionId }: StoreGrantOptions,
  { label, reference }: Flow,
  id: string,
  now: number,
): Promise<void> {
  await tx.query(
    `insert into connector.accounts (id, kind, label, reference, base_url, subscription_id, created_at)
     values ($1, 'oauth', $2, $3, $4, $5, $6)`,
    [id, label, reference, baseUrl, subscriptionId, now],
  );
}

/**
 * The version of the credential rises, so that every process takes the account up again. It is this app's from now
 * on, also if an app before it had begun it.
 */
async function renewAccount(
  tx: Queryable,
  { baseUrl, subscriptionId }: StoreGrantOptions,
  { label, reference }: Flow,
  id: string,
): Promise<boolean> {
  const rows = await tx.query(
    `update connector.accounts
        set credential_version = credential_version + 1, label = coalesce($2, label),
            reference = coalesce($3, reference), base_url = $4, subscription_id = $5
      where id = $1 and kind = 'oauth' returning id`,
    [id, label, reference, baseUrl, subscriptionId],
  );
  return rows.length > 0;
}

/** A refresh that is under way names the version before, and so changes nothing any more. */
async function putGrant(
  tx: Queryable,
  accountId: string,
  pair: SealedPair,
  scope: string | null,
  now: number,
): Promise<void> {
  await tx.query(
    `insert into connector.oauth_grants as g
       (account_id, scope, sealed_access_token, sealed_refresh_token, access_expires_at, refreshed_at)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (account_id) do update
       set version = g.version + 1, scope = excluded.scope,
           sealed_access_token = excluded.sealed_access_token,
           sealed_refresh_token = excluded.sealed_refresh_token,
           access_expires_at = excluded.access_expires_at, refreshed_at = excluded.refreshed_at,
           refresh_owner = null, refresh_until = null, failures = 0, last_error_code = null, not_before = null,
           ended_at = null, ended_reason = null`,
    [accountId, scope, pair.sealedAccess, pair.sealedRefresh, pair.accessExpiresAt, now],
  );
}

/** What failed for want of a grant says nothing any more. */
async function resumePolls(tx: Queryable, accountId: string): Promise<void> {
  await tx.query(
    `update connector.poll_states
        set failures = 0, not_before = null, asked_to_wait = false, refused_credential_version = null,
            needs_full_sweep = true
      where account_id = $1`,
    [accountId],
  );
}
