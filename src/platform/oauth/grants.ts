import { and, desc, eq, isNull, lt, sql } from 'drizzle-orm';
import type { Scope } from '../../contract/service/scopes.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { EXISTING_CONNECTIONS } from '../credentials/find-granted.ts';
import { oauthGrants, oauthRefreshTokens } from '../db/oauth-tables.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { ChangeState } from '../time/state-change.ts';
import { revokeGrant } from './find-grant.ts';

/** The scopes and connections that a grant keeps. */
export interface NarrowedGrant {
  readonly scopes?: readonly Scope[];
  readonly connectionIds?: readonly string[];
}

/** A refresh token, without the token. Times are virtual epoch ms. */
export interface RefreshTokenRecord {
  readonly expiresAt: number;
  /** When it was replaced by the next one; null while it is the one to use. */
  readonly usedAt: number | null;
}

/** What the developer portal does with grants. Changes take effect on the next call. */
export interface OauthGrants {
  /** Newest first; `before` is a position. */
  list(options: { readonly limit: number; readonly before?: number }): Promise<GrantRecord[]>;
  /** The refresh tokens of grants that have not been removed yet, newest first, by grant. */
  families(ids: readonly string[]): Promise<Map<string, RefreshTokenRecord[]>>;
  /**
   * Removes scopes or connections; absent fields are unchanged. Throws `not_found` for an unknown or revoked grant,
   * `invalid_request` for a scope or connection that the grant does not have, which needs a new consent.
   */
  narrow(id: string, left: NarrowedGrant): Promise<GrantRecord>;
  /** Throws `not_found` for an unknown grant. Revoking a grant twice is allowed. */
  revoke(id: string): Promise<void>;
}

function select(db: Queryable) {
  const { id, appId, workspaceId, scopes, refreshes, expiresAt, revokedAt, position, createdAt } =
    oauthGrants;
  return orm(db)
    .select({
      ...{ id, appId, workspaceId, scopes, connectionIds: EXISTING_CONNECTIONS },
      ...{ refreshes, expiresAt, revokedAt, position, createdAt },
    })
    .from(oauthGrants);
}

/** A grant, without any token. */
export type GrantRecord = Awaited<ReturnType<typeof select>>[number];

/** Adds a connection to a grant. */
export async function extendGrant(tx: Queryable, id: string, connectionId: string): Promise<void> {
  const { connectionIds } = oauthGrants;
  await orm(tx)
    .update(oauthGrants)
    .set({ connectionIds: sql`array_append(${connectionIds}, ${connectionId})` })
    .where(eq(oauthGrants.id, id));
}

function requireHeld(held: readonly string[], asked: readonly string[], field: string): void {
  if (asked.every((one) => held.includes(one))) return;
  throw new PlatformError('invalid_request', { field, hint: 'a grant can only be narrowed' });
}

export function createOauthGrants(database: Queryable, changeState: ChangeState): OauthGrants {
  return {
    list: async ({ limit, before }) =>
      await select(database)
        .where(before === undefined ? undefined : lt(oauthGrants.position, before))
        .orderBy(desc(oauthGrants.position))
        .limit(limit),

    async families(ids) {
      const { grantId, expiresAt, consumedAt: usedAt } = oauthRefreshTokens;
      const rows = await orm(database)
        .select({ grantId, expiresAt, usedAt })
        .from(oauthRefreshTokens)
        .where(isAnyOf(grantId, ids))
        .orderBy(desc(expiresAt), sql`${usedAt} desc nulls first`);
      return Map.groupBy(rows, (row) => row.grantId);
    },

    narrow: (id, { scopes, connectionIds }) =>
      changeState(async ({ tx }) => {
        const [grant] = await select(tx)
          .where(and(eq(oauthGrants.id, id), isNull(oauthGrants.revokedAt)))
          .for('update');
        if (grant === undefined) throw new PlatformError('not_found');
        const left = {
          scopes: grant.scopes.filter((scope) => scopes?.includes(scope) ?? true),
          connectionIds: grant.connectionIds.filter((one) => connectionIds?.includes(one) ?? true),
        };
        requireHeld(grant.scopes, scopes ?? [], 'scopes');
        requireHeld(grant.connectionIds, connectionIds ?? [], 'connectionIds');
        await orm(tx).update(oauthGrants).set(left).where(eq(oauthGrants.id, id));
        return { ...grant, ...left };
      }),

    revoke: (id) =>
      changeState(async ({ tx, now }) => {
        if ((await orm(tx).$count(oauthGrants, eq(oauthGrants.id, id))) === 0)
          throw new PlatformError('not_found');
        await revokeGrant(tx, id, now);
      }),
  };
}
