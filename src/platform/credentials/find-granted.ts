import { eq, sql } from 'drizzle-orm';
import { errors } from 'jose';
import type { Scope } from '../../contract/service/scopes.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { connections, workspaces } from '../db/core-tables.ts';
import { oauthApps, oauthGrants } from '../db/oauth-tables.ts';
import { recognized } from '../kernel/decision-trace.ts';
import { PlatformError } from '../kernel/platform-error.ts';
import type { Credential } from './credential.ts';

/** What an access token says. It is a proof of a grant, and the grant is the truth. */
export interface TokenClaims {
  readonly grantId: string;
  readonly appId: string;
  readonly scopes: readonly Scope[];
}

/** What a token can be for. */
export type Resource = 'api' | 'tools';

/** Whom a token must be for: one resource of this server, or any of them. */
export type Audience = Resource | 'any';

/** Tells good access tokens from all other texts. */
export interface TokenVerifier {
  /**
   * What a token says that this server signed, that is not expired, and that is for the audience. Throws for
   * every other text; the reason is for the trace, not for the client.
   */
  verify(token: string, audience: Audience): Promise<TokenClaims>;
}

const { connectionIds: granted, workspaceId: owner } = oauthGrants;
/**
 * The granted connections that exist, in the order of the grant. Columns stand in a template of their own, since
 * drizzle drops the table's name from those that do not.
 */
export const EXISTING_CONNECTIONS = sql<string[]>`array(
  select c.id from unnest(${sql`${granted}`}) with ordinality g (id, place)
  join ${connections} c on c.id = g.id and c.workspace_id = ${sql`${owner}`}
  order by g.place)`;

/** Where credentials are looked up. */
export interface CredentialSources {
  readonly database: Queryable;
  readonly tokens: TokenVerifier;
}

function refuse(why: string): never {
  throw new PlatformError('invalid_token', { why }); // [choice.oauth.token]
}

/** Why a token is not good, in words for the trace. */
function explain(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'the access token has expired';
  const elsewhere = error instanceof errors.JWTClaimValidationFailed && error.claim === 'aud';
  return elsewhere ? 'the access token is for another resource' : 'no such access token was issued';
}

/**
 * The credential of an access token for a resource of this server. The token proves a grant; what may be done is
 * what the grant says now: scopes that both name, granted connections that still exist. A lapsed license is a later
 * check. Throws `invalid_token`: a client refreshes then, and learns there whether the grant is over.
 */
export async function findGranted(
  { database, tokens }: CredentialSources,
  token: string,
  resource: Resource,
): Promise<Credential> {
  const claims: TokenClaims = await tokens
    .verify(token, resource)
    .catch((error: unknown) => refuse(explain(error)));
  const { appId, workspaceId, scopes, legacy, revokedAt } = oauthGrants;
  const [row] = await orm(database)
    .select({
      grant: { workspaceId, workspaceKind: workspaces.kind, scopes, legacy, subscriptionId: appId },
      connectionIds: EXISTING_CONNECTIONS,
      revokedAt,
      enabled: oauthApps.enabled,
    })
    .from(oauthGrants)
    .innerJoin(oauthApps, eq(oauthApps.id, appId))
    .innerJoin(workspaces, eq(workspaces.id, workspaceId))
    .where(eq(oauthGrants.id, claims.grantId));
  if (row === undefined || row.grant.subscriptionId !== claims.appId) refuse('its grant is gone');
  recognized(claims.grantId, row.grant.workspaceId);
  if (row.revokedAt !== null) refuse('its grant was revoked');
  if (!row.enabled) refuse('its app is switched off');
  return {
    kind: 'oauth',
    id: claims.grantId,
    ...row.grant,
    scopes: row.grant.scopes.filter((scope) => claims.scopes.includes(scope)),
    connectionIds: row.connectionIds,
    ipAllowlist: null,
  };
}
