import { and, asc, eq, isNotNull, isNull, sql } from 'drizzle-orm';
import { SCOPES, type Scope } from '../../contract/service/scopes.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { apiKeys, workspaces } from '../db/core-tables.ts';
import { newIdentifier } from '../kernel/identifiers.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import { hashSecret, newSecret } from '../kernel/secrets.ts';
import type { ChangeState } from '../time/state-change.ts';
import { type AddressDecision, checkAllowlist, decideAddress } from './address-allowlist.ts';

/** What a key may do. Null lists mean no limit: every connection, every address. */
export interface KeyAccess {
  readonly scopes: readonly Scope[]; // [auth.key.scopes]
  readonly connectionIds: readonly string[] | null;
  readonly ipAllowlist: readonly string[] | null; // [auth.key.allowlist]
}

/** What the developer portal does with API keys. Changes take effect on the next call. Implements `API keys`. */
export interface ApiKeys {
  /**
   * Returns the key, which is only shown here; its hash is stored. Absent fields grant full access. Throws
   * `not_found` for an unknown workspace, `invalid_request` for an allowlist entry that is not an address or a range.
   */
  create(workspaceId: string, access?: Partial<KeyAccess>): Promise<{ id: string; key: string }>;
  /** Throws `not_found` for an unknown or revoked key, `invalid_request` as `create`. */
  change(id: string, access: Partial<KeyAccess>): Promise<KeyAccess>;
  /** Throws `not_found` for an unknown key. Revoking a key twice is allowed. */
  revoke(id: string): Promise<void>;
  /**
   * Whether a call from this address would be allowed, and by which entry. A text that is not an address represents a
   * caller whose address cannot be determined. Throws `not_found` for an unknown or revoked key.
   */
  tryAddress(id: string, address: string): Promise<AddressDecision>;
  /** The keys of workspaces, oldest first, including revoked ones. */
  list(workspaceIds: readonly string[]): Promise<ListedApiKey[]>;
}

/** A key in a list, with the first 8 hex digits of its hash. */
export type ListedApiKey = Omit<typeof apiKeys.$inferSelect, 'hash' | 'position'> & { readonly hint: string };

const isLive = (id: string) => and(eq(apiKeys.id, id), isNull(apiKeys.revokedAt));

/** Adds a connection to the list of a key, if it has one. */
export async function extendKey(tx: Queryable, id: string, connectionId: string): Promise<void> {
  const { connectionIds } = apiKeys;
  await orm(tx)
    .update(apiKeys)
    .set({ connectionIds: sql`array_append(${connectionIds}, ${connectionId})` })
    .where(and(eq(apiKeys.id, id), isNotNull(connectionIds)));
}

export function createApiKeys(database: Queryable, changeState: ChangeState): ApiKeys {
  return {
    async create(workspaceId, access = {}) {
      checkAllowlist(access.ipAllowlist ?? null);
      const id = newIdentifier();
      const key = newSecret('key');
      await changeState(async ({ tx, now }) => {
        if ((await orm(tx).$count(workspaces, eq(workspaces.id, workspaceId))) === 0) {
          throw new PlatformError('not_found');
        }
        await orm(tx)
          .insert(apiKeys)
          .values({
            id,
            workspaceId,
            hash: hashSecret(key), // [auth.key.hashed]
            scopes: access.scopes ?? SCOPES,
            connectionIds: access.connectionIds,
            ipAllowlist: access.ipAllowlist,
            createdAt: now,
          });
      });
      return { id, key }; // [auth.key.shown-once]
    },

    async change(id, access) {
      checkAllowlist(access.ipAllowlist ?? null);
      return changeState(async ({ tx }) => {
        const { scopes, connectionIds, ipAllowlist } = apiKeys;
        const [row] = await orm(tx)
          .update(apiKeys)
          // An UPDATE needs at least one column: without fields to change, the scopes are set to themselves.
          .set({ scopes: sql`${scopes}`, ...access })
          .where(isLive(id))
          .returning({ scopes, connectionIds, ipAllowlist });
        if (row === undefined) throw new PlatformError('not_found');
        return row;
      });
    },

    revoke: (id) =>
      changeState(async ({ tx, now }) => {
        const rows = await orm(tx)
          .update(apiKeys)
          .set({ revokedAt: sql`coalesce(${apiKeys.revokedAt}, ${now})` })
          .where(eq(apiKeys.id, id))
          .returning({ id: apiKeys.id });
        if (rows.length === 0) throw new PlatformError('not_found');
      }),

    async tryAddress(id, address) {
      const [row] = await orm(database)
        .select({ ipAllowlist: apiKeys.ipAllowlist })
        .from(apiKeys)
        .where(isLive(id));
      if (row === undefined) throw new PlatformError('not_found');
      return decideAddress(row.ipAllowlist, address);
    },

    async list(workspaceIds) {
      const { id, workspaceId, hash, scopes, connectionIds, ipAllowlist, createdAt, revokedAt } = apiKeys;
      const hint = sql<string>`left(encode(${hash}, 'hex'), 8)`;
      return await orm(database)
        .select({ id, workspaceId, hint, scopes, connectionIds, ipAllowlist, createdAt, revokedAt })
        .from(apiKeys)
        .where(isAnyOf(workspaceId, workspaceIds))
        .orderBy(asc(apiKeys.position));
    },
  };
}
