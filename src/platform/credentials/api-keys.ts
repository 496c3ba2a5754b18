import { SCOPES, type Scope } from '../../contract/service/scopes.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { newIdentifier } from '../kernel/identifiers.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { ChangeState } from '../time/state-change.ts';
import { type AddressDecision, checkAllowlist, decideAddress } from './address-allowlist.ts';
import { hashKey, newApiKey } from './hash-key.ts';

/** What a key may do. Null lists mean no limit: every connection, every address. */
export interface KeyAccess {
  readonly scopes: readonly Scope[]; // [auth.key.scopes]
  readonly connectionIds: readonly string[] | null;
  readonly ipAllowlist: readonly string[] | null; // [auth.key.allowlist]
}

/** The developer portal's hand on API keys. Changes act on the next call. Implements `API keys`. */
export interface ApiKeys {
  /**
   * Answers the key itself, once; only its hash is stored. Absent access means all of it. Throws `not_found`
   * for an unknown workspace, `invalid_request` for an allowlist entry that is no address and no range.
   */
  create(workspaceId: string, access?: Partial<KeyAccess>): Promise<{ id: string; key: string }>;
  /** Throws `not_found` for an unknown or revoked key, `invalid_request` as `create`. */
  change(id: string, access: Partial<KeyAccess>): Promise<KeyAccess>;
  /** Throws `not_found` for an unknown key; revoking twice is no error. */
  revoke(id: string): Promise<void>;
  /**
   * Whether a call from this address would be let in, and by which entry. A text that is no address stands for
   * a caller whose address cannot be determined. Throws `not_found` for an unknown or revoked key.
   */
  tryAddress(id: string, address: string): Promise<AddressDecision>;
}

interface AccessRow {
  scopes: Scope[];
  connection_ids: string[] | null;
  ip_allowlist: string[] | null;
}

export function createApiKeys(database: Queryable, changeState: ChangeState): ApiKeys {
  return {
    async create(workspaceId, access = {}) {
      checkAllowlist(access.ipAllowlist ?? null);
      const id = newIdentifier();
      const key = newApiKey();
      await changeState(async ({ tx, now }) => {
        const rows = await tx.query(
          `INSERT INTO platform.api_keys (id, workspace_id, hash, scopes, connection_ids, ip_allowlist, created_at)
           SELECT $1, w.id, $3, $4, $5, $6, $7 FROM platform.workspaces w WHERE w.id = $2
           RETURNING id`,
          [
            id,
            workspaceId,
            hashKey(key), // [auth.key.hashed]
            access.scopes ?? SCOPES,
            access.connectionIds ?? null,
            access.ipAllowlist ?? null,
            now,
          ],
        );
        if (rows.length === 0) throw new PlatformError('not_found');
      });
      return { id, key }; // [auth.key.shown-once]
    },

    async change(id, access) {
      checkAllowlist(access.ipAllowlist ?? null);
      return changeState(async ({ tx }) => {
        const [row] = await tx.query<AccessRow>(
          `UPDATE platform.api_keys SET
             scopes = coalesce($2::text[], scopes),
             connection_ids = CASE WHEN $3::boolean THEN $4::text[] ELSE connection_ids END,
             ip_allowlist = CASE WHEN $5::boolean THEN $6::text[] ELSE ip_allowlist END
           WHERE id = $1 AND revoked_at IS NULL
           RETURNING scopes, connection_ids, ip_allowlist`,
          [
            id,
            access.scopes ?? null,
            access.connectionIds !== undefined,
            access.connectionIds ?? null,
            access.ipAllowlist !== undefined,
            access.ipAllowlist ?? null,
          ],
        );
        if (row === undefined) throw new PlatformError('not_found');
        return { scopes: row.scopes, connectionIds: row.connection_ids, ipAllowlist: row.ip_allowlist };
      });
    },

    revoke: (id) =>
      changeState(async ({ tx, now }) => {
        const rows = await tx.query(
          'UPDATE platform.api_keys SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1 RETURNING id',
          [id, now],
        );
        if (rows.length === 0) throw new PlatformError('not_found');
      }),

    async tryAddress(id, address) {
      const [row] = await database.query<Pick<AccessRow, 'ip_allowlist'>>(
        'SELECT ip_allowlist FROM platform.api_keys WHERE id = $1 AND revoked_at IS NULL',
        [id],
      );
      if (row === undefined) throw new PlatformError('not_found');
      return decideAddress(row.ip_allowlist, address);
    },
  };
}
