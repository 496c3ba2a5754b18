import { eq, sql } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { oauthGrants } from '../db/oauth-tables.ts';
import { OauthError } from './oauth-error.ts';

type GrantRow = typeof oauthGrants.$inferSelect;

/** The fields of a grant that tokens depend on. */
export type Grant = Pick<GrantRow, 'id' | 'appId' | 'workspaceId' | 'scopes' | 'resource'> & {
  readonly revoked: boolean;
};

const { id, appId, workspaceId, scopes, resource, revokedAt } = oauthGrants;

/** The columns of a `Grant`, for queries that join it to a code or a token. */
export const GRANT = {
  ...{ id, appId, workspaceId, scopes, resource },
  revoked: sql<boolean>`${revokedAt} is not null`.as('revoked'),
};

/** Revokes a grant with its codes and tokens. Revoking it twice changes nothing. */
export async function revokeGrant(tx: Queryable, grantId: string, now: number): Promise<void> {
  await orm(tx)
    .update(oauthGrants)
    .set({ revokedAt: sql`coalesce(${revokedAt}, ${now})` })
    .where(eq(id, grantId));
}

/** The resources that a grant's tokens may be issued for. */
export function resourcesOfGrant({ resource }: Grant, all: readonly string[]): readonly string[] {
  return resource === null ? all : [resource];
}

/** Throws `invalid_grant` with the reason in its description. */
export function refuseGrant(why: string): never {
  throw new OauthError('invalid_grant', why);
}
