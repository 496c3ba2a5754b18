import { and, eq, isNull } from 'drizzle-orm';
import { orm } from '../../../runtime/database/orm.ts';
import { oauthCodes, type oauthRefreshTokens } from '../../db/oauth-tables.ts';
import { passed } from '../../kernel/decision-trace.ts';
import type { App } from '../apps.ts';
import { type Grant, refuseGrant, revokeGrant } from '../find-grant.ts';
import { storeRefreshToken } from './issue-tokens.ts';
import type { TokenContext } from './token-context.ts';

/** A code or refresh token to consume, with its table. */
interface SingleUse {
  readonly table: typeof oauthCodes | typeof oauthRefreshTokens;
  readonly hash: Buffer;
  readonly grantId: string;
}

/** A code or a refresh token, as it is stored. */
export interface StoredSingleUse {
  readonly grant: Grant;
  readonly expiresAt: number;
  readonly consumedAt: number | null;
}

/**
 * Returns a code or refresh token if this client may use it. Throws `invalid_grant` if it is unknown, revoked or
 * expired, or belongs to another client; if it was used before, its grant is also revoked.
 */
export async function requireUsable<Found extends StoredSingleUse>(
  context: TokenContext,
  app: App,
  { name, found }: { readonly name: string; readonly found: Found | undefined },
): Promise<Found> {
  if (found === undefined || found.grant.appId !== app.id) return refuseGrant(`${name} is unknown`);
  const { grant, expiresAt, consumedAt } = found;
  if (consumedAt !== null) return refuseReuse(context, grant.id);
  if (grant.revoked) return refuseGrant('the grant was revoked');
  if (expiresAt <= context.now()) return refuseGrant(`${name} has expired`);
  passed('grant');
  return found;
}

/**
 * Refuses a second use. One of the two users is an attacker, so the grant is revoked with all its tokens, in a
 * separate transaction that is committed despite the refusal.
 */
async function refuseReuse({ changeState }: TokenContext, grantId: string): Promise<never> {
  await changeState(({ tx, now }) => revokeGrant(tx, grantId, now));
  return refuseGrant('it was used before; its grant and all tokens are revoked');
}

/**
 * Consumes a code or refresh token with one conditional update, and stores and returns the next refresh token of its
 * family. One of several concurrent requests succeeds; the others count as a second use. [oauth.refresh.rotates]
 */
export async function consume(context: TokenContext, { table, hash, grantId }: SingleUse): Promise<string> {
  const refreshToken = await context.changeState(async (change) => {
    const used = await orm(change.tx)
      .update(table)
      .set({ consumedAt: change.now })
      .where(and(eq(table.hash, hash), isNull(table.consumedAt)))
      .returning({ hash: table.hash });
    if (used.length === 0) return null;
    return storeRefreshToken(change, grantId, table === oauthCodes ? 0 : 1);
  });
  return refreshToken ?? refuseReuse(context, grantId);
}
