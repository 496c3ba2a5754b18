import type { Scope } from '../../contract/service/scopes.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { OauthError } from './oauth-error.ts';

/** A grant, as far as tokens are concerned. */
export interface Grant {
  readonly id: string;
  readonly appId: string;
  readonly workspaceId: string;
  readonly scopes: readonly Scope[];
  /** Null: every resource. */
  readonly resource: string | null;
  readonly revoked: boolean;
}

export interface GrantRow {
  id: string;
  app_id: string;
  workspace_id: string;
  scopes: Scope[];
  resource: string | null;
  revoked_at: number | null;
}

export const GRANT_COLUMNS = 'g.id, g.app_id, g.workspace_id, g.scopes, g.resource, g.revoked_at';

export function toGrant(row: GrantRow): Grant {
  return {
    id: row.id,
    appId: row.app_id,
    workspaceId: row.workspace_id,
    scopes: row.scopes,
    resource: row.resource,
    revoked: row.revoked_at !== null,
  };
}

/** Revokes a grant with all that was issued from it. Revoking twice changes nothing. */
export async function revokeGrant(tx: Queryable, grantId: string, now: number): Promise<void> {
  await tx.query('UPDATE platform.oauth_grants SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1', [
    grantId,
    now,
  ]);
}

/** The resources that a grant's tokens may be for. */
export function resourcesOfGrant({ resource }: Grant, all: readonly string[]): readonly string[] {
  return resource === null ? all : [resource];
}

/** Throws `invalid_grant`. What is wrong exactly is nobody's business but the description's reader's. */
export function refuseGrant(why: string): never {
  throw new OauthError('invalid_grant', why);
}
