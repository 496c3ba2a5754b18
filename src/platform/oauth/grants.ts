import type { Scope } from '../../contract/service/scopes.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { EXISTING_CONNECTIONS } from '../credentials/find-granted.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { ChangeState } from '../time/state-change.ts';
import { revokeGrant } from './find-grant.ts';

/** A grant and its family of refresh tokens, without any token. */
export interface GrantRecord {
  readonly id: string;
  readonly appId: string;
  readonly workspaceId: string;
  readonly scopes: readonly Scope[];
  /** Those of the granted connections that still exist. */
  readonly connectionIds: readonly string[];
  readonly refreshes: number;
  /** End of the newest refresh token, virtual epoch ms; null until the code was redeemed. */
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  readonly position: number;
  readonly createdAt: number;
}

/** What is left of a grant. */
export interface NarrowedGrant {
  readonly scopes?: readonly Scope[];
  readonly connectionIds?: readonly string[];
}

/** The portal's hand on what people have consented to. Changes act on the next call. */
export interface OauthGrants {
  /** Newest first; `before` is a position. */
  list(options: { readonly limit: number; readonly before?: number }): Promise<GrantRecord[]>;
  /**
   * Takes scopes or connections away; what is absent stays. Throws `not_found` for a grant that is unknown or
   * revoked, `invalid_request` for what it does not have: more needs another consent.
   */
  narrow(id: string, left: NarrowedGrant): Promise<GrantRecord>;
  /** Throws `not_found` for an unknown grant; revoking twice is no error. */
  revoke(id: string): Promise<void>;
}

interface Row {
  id: string;
  app_id: string;
  workspace_id: string;
  scopes: Scope[];
  connection_ids: string[];
  refreshes: number;
  expires_at: number | null;
  revoked_at: number | null;
  position: number;
  created_at: number;
}

const SELECT = `SELECT g.id, g.app_id, g.workspace_id, g.scopes, ${EXISTING_CONNECTIONS} AS connection_ids,
  g.refreshes, g.expires_at, g.revoked_at, g.position, g.created_at FROM platform.oauth_grants g`;

function toRecord(row: Row): GrantRecord {
  return {
    id: row.id,
    appId: row.app_id,
    workspaceId: row.workspace_id,
    scopes: row.scopes,
    connectionIds: row.connection_ids,
    refreshes: row.refreshes,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    position: row.position,
    createdAt: row.created_at,
  };
}

function requireHeld(held: readonly string[], asked: readonly string[], field: string): void {
  if (asked.every((one) => held.includes(one))) return;
  throw new PlatformError('invalid_request', { field, hint: 'a grant can be narrowed to what it has' });
}

export function createOauthGrants(database: Queryable, changeState: ChangeState): OauthGrants {
  return {
    async list({ limit, before }) {
      const rows = await database.query<Row>(
        `${SELECT} WHERE g.position < $1::bigint ORDER BY g.position DESC LIMIT $2::integer`,
        [before ?? Number.MAX_SAFE_INTEGER, limit],
      );
      return rows.map(toRecord);
    },

    narrow: (id, { scopes, connectionIds }) =>
      changeState(async ({ tx }) => {
        const [row] = await tx.query<Row>(`${SELECT} WHERE g.id = $1 AND g.revoked_at IS NULL FOR UPDATE`, [
          id,
        ]);
        if (row === undefined) throw new PlatformError('not_found');
        const grant = toRecord(row);
        const left = {
          scopes: grant.scopes.filter((scope) => scopes?.includes(scope) ?? true),
          connectionIds: grant.connectionIds.filter((one) => connectionIds?.includes(one) ?? true),
        };
        requireHeld(grant.scopes, scopes ?? [], 'scopes');
        requireHeld(grant.connectionIds, connectionIds ?? [], 'connectionIds');
        await tx.query('UPDATE platform.oauth_grants SET scopes = $2, connection_ids = $3 WHERE id = $1', [
          id,
          left.scopes,
          left.connectionIds,
        ]);
        return { ...grant, ...left };
      }),

    revoke: (id) =>
      changeState(async ({ tx, now }) => {
        const known = await tx.query('SELECT id FROM platform.oauth_grants WHERE id = $1', [id]);
        if (known.length === 0) throw new PlatformError('not_found');
        await revokeGrant(tx, id, now);
      }),
  };
}
