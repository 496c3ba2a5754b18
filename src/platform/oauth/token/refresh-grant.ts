import type { Queryable } from '../../../runtime/database/database.ts';
import type { App } from '../apps.ts';
import { GRANT_COLUMNS, type GrantRow, resourcesOfGrant, toGrant } from '../find-grant.ts';
import { hashOauthSecret } from '../oauth-secrets.ts';
import { type Parameters, requireParameter } from '../parameters.ts';
import { readResource } from '../resource-parameter.ts';
import { readScopes } from '../scope-parameter.ts';
import { answerTokens, type TokenAnswer } from './issue-tokens.ts';
import type { TokenContext } from './token-context.ts';
import { requireUsable, type StoredSingleUse, useUp } from './use-up.ts';

interface Row extends GrantRow {
  token_expires_at: number;
  consumed_at: number | null;
}

/** The refresh token with this hash; null when none was ever issued. */
export async function findRefreshToken(db: Queryable, hash: Buffer): Promise<StoredSingleUse | null> {
  const [row] = await db.query<Row>(
    `SELECT ${GRANT_COLUMNS}, t.expires_at AS token_expires_at, t.consumed_at
     FROM platform.oauth_refresh_tokens t JOIN platform.oauth_grants g ON g.id = t.grant_id
     WHERE t.hash = $1`,
    [hash],
  );
  if (row === undefined) return null;
  return { grant: toGrant(row), expiresAt: row.token_expires_at, consumed: row.consumed_at !== null };
}

/**
 * New tokens for a refresh token (RFC 6749, 6). All is checked before the token is used up, and it is used up by
 * one conditional update: of two requests at once, one gets tokens. A token that was used before is in wrong
 * hands, so its whole family is revoked, in a transaction of its own that outlives this refusal.
 * [oauth.refresh.rotates]
 */
export async function refreshGrant(
  context: TokenContext,
  app: App,
  parameters: Parameters,
): Promise<TokenAnswer> {
  const { database, tokens, resources } = context;
  const hash = hashOauthSecret(requireParameter(parameters, 'refresh_token'));
  const found = await findRefreshToken(database, hash);
  const { grant } = await requireUsable(context, app, { name: 'the refresh token', found });
  const scopes = readScopes(parameters, grant.scopes);
  const resource = readResource(parameters, resourcesOfGrant(grant, resources())) ?? grant.resource;

  const refreshToken = await useUp(context, { table: 'oauth_refresh_tokens', hash, grantId: grant.id });
  return answerTokens(tokens, grant, scopes, resource, refreshToken);
}
