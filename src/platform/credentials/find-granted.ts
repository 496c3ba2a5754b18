import { eq, sql } from 'drizzle-orm';
import { errors } from 'jose';
import type { Scope } from '../../contract/service/scopes.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { connections, workspaces } from '../db/core-tables.ts';
import { oauthApps, oauthGrants } from '../db/oauth-tables.ts';
import { recognized } from '../kernel/decision-trace.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { DomainClock } from '../time/domain-clock.ts';
import type { Credential } from './credential.ts';

/** The claims of an access token. They prove a grant; what is allowed is read from the grant. */
export interface TokenClaims {
  readonly grantId: string;
  readonly appId: string;
  readonly scopes: readonly Scope[];
}

/** The resources that a token can be issued for. */
export type Resource = 'api' | 'tools';

/** The resource that a token must be issued for: one of this server's, or any of them. */
export type Audience = Resource | 'any';

/** Verifies access tokens. */
export interface TokenVerifier {
  /**
   * The claims of a token that this server signed, that has not expired, and that was issued for the audience.
   * Throws for every other text; the reason goes to the trace, not to the client.
   */
  verify(token: string, audience: Audience): Promise<TokenClaims>;
}

const { connectionIds: granted, workspaceId: owner } = oauthGrants;
/**
 * The granted connections that exist, in the order of the grant. Columns are in a nested template, because drizzle
 * omits the table's name from those that are not.
 */
export const EXISTING_CONNECTIONS = sql<string[]>`array(
  select c.id from unnest(${sql`${granted}`}) with ordinality g (id, place)
  join ${connections} c on c.id = g.id and c.workspace_id = ${sql`${owner}`}
  order by g.place)`;

export interface CredentialSources {
  readonly database: Queryable;
  readonly tokens: TokenVerifier;
  readonly clock: DomainClock;
}

function refuse(why: string): never {
  throw new PlatformError('invalid_token', { why }); // [choice.oauth.token]
}

/** Why a token is invalid, for the trace. */
function explain(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'the access token has expired';
  const elsewhere = error instanceof errors.JWTClaimValidationFailed && error.claim === 'aud';
  return elsewhere ? 'the access token is for another resource' : 'no such access token was issued';
}

/**
 * The credential of an access token for a resource of this server. It allows what the grant allows now: the scopes
 * that token and grant have in common, and the granted connections that still exist. Licenses are checked later.
 * Throws `invalid_token`: the client then refreshes, and learns from the answer whether the grant has ended.
 */
export async function findGranted(
  { database, tokens, clock }: CredentialSources,
  token: string,
  resource: Resource,
): Promise<Credential> {
  const claims: TokenClaims = await tokens
    .verify(token, resource)
    .catch((error: unknown) => refuse(explain(error)));
  const { appId, workspaceId, scopes, legacy, expiresAt, revokedAt } = oauthGrants;
  const [row] = await orm(database)
    .select({
      grant: { workspaceId, workspaceKind: workspaces.kind, scopes, legacy, subscriptionId: appId },
      connectionIds: EXISTING_CONNECTIONS,
      expiresAt,
      revokedAt,
      enabled: oauthApps.enabled,
    })
    .from(oauthGrants)
    .innerJoin(oauthApps, eq(oauthApps.id, appId))
    .innerJoin(workspaces, eq(workspaces.id, workspaceId))
    .where(eq(oauthGrants.id, claims.grantId));
  if (row === undefined || row.grant.subscriptionId !== claims.appId) refuse('its grant does not exist');
  recognized(claims.grantId, row.grant.workspaceId);
  if (row.revokedAt !== null) refuse('its grant was revoked');
  // [choice.oauth.grant-end]
  if (row.expiresAt === null || row.expiresAt <= clock.now()) refuse('its grant has ended');
  if (!row.enabled) refuse('its app is disabled');
  return {
    kind: 'oauth',
    id: claims.grantId,
    ...row.grant,
    scopes: row.grant.scopes.filter((scope) => claims.scopes.includes(scope)),
    connectionIds: row.connectionIds,
    ipAllowlist: null,
  };
}
