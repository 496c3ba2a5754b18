import { eq } from 'drizzle-orm';
import type { Queryable } from '../../../runtime/database/database.ts';
import { orm } from '../../../runtime/database/orm.ts';
import { oauthGrants, oauthRefreshTokens } from '../../db/oauth-tables.ts';
import { hashSecret } from '../../kernel/secrets.ts';
import type { App } from '../apps.ts';
import { GRANT, resourcesOfGrant } from '../find-grant.ts';
import { type Parameters, requireParameter } from '../parameters.ts';
import { readResource } from '../resource-parameter.ts';
import { readScopes } from '../scope-parameter.ts';
import { consume, requireUsable, type StoredSingleUse } from './consume.ts';
import { answerTokens, type TokenAnswer } from './issue-tokens.ts';
import type { TokenContext } from './token-context.ts';

/** The refresh token with this hash; undefined if there is none. */
export async function findRefreshToken(db: Queryable, hash: Buffer): Promise<StoredSingleUse | undefined> {
  const { grantId, expiresAt, consumedAt } = oauthRefreshTokens;
  const [token] = await orm(db)
    .select({ grant: GRANT, expiresAt, consumedAt })
    .from(oauthRefreshTokens)
    .innerJoin(oauthGrants, eq(oauthGrants.id, grantId))
    .where(eq(oauthRefreshTokens.hash, hash));
  return token;
}

/**
 * Exchanges a refresh token for new tokens (RFC 6749, 6). Everything is checked before the token is consumed with one
 * conditional update, so that one of two concurrent requests gets tokens. A second use means that the token was
 * stolen, so its family is revoked, in a separate transaction that is committed despite the refusal.
 * [oauth.refresh.rotates]
 */
export async function refreshGrant(
  context: TokenContext,
  app: App,
  parameters: Parameters,
): Promise<TokenAnswer> {
  const { database, tokens, resources } = context;
  const hash = hashSecret(requireParameter(parameters, 'refresh_token'));
  const found = await findRefreshToken(database, hash);
  const { grant } = await requireUsable(context, app, { name: 'the refresh token', found });
  const scopes = readScopes(parameters, grant.scopes);
  const resource = readResource(parameters, resourcesOfGrant(grant, resources())) ?? grant.resource;

  const refreshToken = await consume(context, { table: oauthRefreshTokens, hash, grantId: grant.id });
  return answerTokens(tokens, grant, scopes, resource, refreshToken);
}
