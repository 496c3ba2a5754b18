import { errors } from 'jose';
import type { Scope } from '../../contract/service/scopes.ts';
import type { WorkspaceKind } from '../../contract/service/statuses.ts';
import type { Queryable } from '../../runtime/database/database.ts';
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

/** The granted connections that exist, in the order of the grant; for a grant `g`. */
export const EXISTING_CONNECTIONS = `ARRAY(
  SELECT c.id FROM unnest(g.connection_ids) WITH ORDINALITY AS granted (id, place)
  JOIN platform.connections c ON c.id = granted.id AND c.workspace_id = g.workspace_id
  ORDER BY granted.place)`;

interface Row {
  app_id: string;
  workspace_id: string;
  kind: WorkspaceKind;
  scopes: Scope[];
  connection_ids: string[];
  legacy: boolean;
  revoked_at: number | null;
  enabled: boolean;
}

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
 * what the grant says now: scopes that both name, granted connections that still exist. A lapsed licence is a later
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
  const [row] = await database.query<Row>(
    `SELECT g.app_id, g.workspace_id, w.kind, g.scopes, ${EXISTING_CONNECTIONS} AS connection_ids, g.legacy,
       g.revoked_at, a.enabled
     FROM platform.oauth_grants g
     JOIN platform.oauth_apps a ON a.id = g.app_id
     JOIN platform.workspaces w ON w.id = g.workspace_id
     WHERE g.id = $1`,
    [claims.grantId],
  );
  if (row === undefined || row.app_id !== claims.appId) refuse('its grant is gone');
  recognized(claims.grantId, row.workspace_id);
  if (row.revoked_at !== null) refuse('its grant was revoked');
  if (!row.enabled) refuse('its app is switched off');
  return {
    kind: 'oauth',
    id: claims.grantId,
    workspaceId: row.workspace_id,
    workspaceKind: row.kind,
    scopes: row.scopes.filter((scope) => claims.scopes.includes(scope)),
    connectionIds: row.connection_ids,
    ipAllowlist: null,
    subscriptionId: row.app_id,
    legacy: row.legacy,
  };
}
