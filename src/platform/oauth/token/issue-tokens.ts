import { eq, sql } from 'drizzle-orm';
import { LIMITS } from '../../../contract/service/limits.ts';
import type { Scope } from '../../../contract/service/scopes.ts';
import { orm } from '../../../runtime/database/orm.ts';
import { oauthGrants, oauthRefreshTokens } from '../../db/oauth-tables.ts';
import { ASSUMPTIONS } from '../../kernel/assumptions.ts';
import { hashSecret, newSecret } from '../../kernel/secrets.ts';
import type { StateChange } from '../../time/state-change.ts';
import type { AccessTokens } from '../access-tokens.ts';
import type { Grant } from '../find-grant.ts';

/** A successful answer of the token endpoint (RFC 6749, 5.1). */
export interface TokenAnswer {
  readonly access_token: string;
  readonly token_type: 'Bearer';
  /** Seconds. */
  readonly expires_in: number;
  readonly refresh_token: string;
  readonly scope: string;
}

/**
 * Stores and returns a new refresh token of a family, valid for 30 days but not beyond the end of its grant.
 * [auth.oauth.token] [limits.tokens] [choice.oauth.grant-end]
 */
export async function storeRefreshToken(
  { tx, now }: StateChange,
  grantId: string,
  refreshes: 0 | 1,
): Promise<string> {
  const token = newSecret('refresh');
  const { createdAt, id, expiresAt, ...grant } = oauthGrants;
  const end = sql`least(${now + LIMITS.refreshTokenLifetimeMs}, ${createdAt} + ${ASSUMPTIONS.oauthGrantLifetimeMs.value})`;
  const [family] = await orm(tx)
    .update(oauthGrants)
    .set({ expiresAt: end, refreshes: sql`${grant.refreshes} + ${refreshes}` })
    .where(eq(id, grantId))
    .returning({ expiresAt });
  const until = family?.expiresAt ?? null;
  if (until !== null) {
    const hash = hashSecret(token);
    await orm(tx).insert(oauthRefreshTokens).values({ hash, grantId, expiresAt: until });
  }
  return token;
}

/** The answer with an access token for `scopes`. The refresh token still covers the whole grant. */
export async function answerTokens(
  tokens: AccessTokens,
  grant: Grant,
  scopes: readonly Scope[],
  resource: string | null,
  refreshToken: string,
): Promise<TokenAnswer> {
  const { id: grantId, appId, workspaceId } = grant;
  return {
    access_token: await tokens.issue({ grantId, appId, workspaceId, scopes, resource }),
    token_type: 'Bearer',
    expires_in: LIMITS.accessTokenLifetimeMs / 1_000,
    refresh_token: refreshToken,
    scope: scopes.join(' '),
  };
}
