import { passed } from '../../kernel/decision-trace.ts';
import { hashSecret } from '../../kernel/secrets.ts';
import type { App } from '../apps.ts';
import { refuseGrant, revokeGrant } from '../find-grant.ts';
import { type Parameters, requireParameter } from '../parameters.ts';
import { findRefreshToken } from './refresh-grant.ts';
import type { TokenContext } from './token-context.ts';

/** The grant and the app of an access or refresh token; null for an invalid token. */
async function findOwner(
  { database, tokens }: TokenContext,
  token: string,
): Promise<{ grantId: string; appId: string } | null> {
  const refresh = await findRefreshToken(database, hashSecret(token));
  if (refresh !== undefined) return { grantId: refresh.grant.id, appId: refresh.grant.appId };
  return tokens.verify(token, 'any').catch(() => null);
}

/**
 * Revokes the grant of a token (RFC 7009), and with it all its tokens: access tokens cannot be revoked separately. An
 * unknown or expired token is not an error. Throws `invalid_grant` for a token of another client.
 */
export async function revokeToken(context: TokenContext, app: App, parameters: Parameters): Promise<void> {
  const token = requireParameter(parameters, 'token');
  const owner = await findOwner(context, token);
  if (owner === null) {
    passed('grant', 'the token is unknown or expired; there is nothing to revoke');
    return;
  }
  if (owner.appId !== app.id) refuseGrant('the token was issued to another client');
  passed('grant');
  await context.changeState(({ tx, now }) => revokeGrant(tx, owner.grantId, now));
}
