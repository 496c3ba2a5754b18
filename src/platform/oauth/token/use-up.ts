import { and, eq, isNull } from 'drizzle-orm';
import { orm } from '../../../runtime/database/orm.ts';
import { oauthCodes, type oauthRefreshTokens } from '../../db/oauth-tables.ts';
import { passed } from '../../kernel/decision-trace.ts';
import type { App } from '../apps.ts';
import { type Grant, refuseGrant, revokeGrant } from '../find-grant.ts';
import { storeRefreshToken } from './issue-tokens.ts';
import type { TokenContext } from './token-context.ts';

/** What is good for one use, with its table. */
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
 * What was found, if it may still be used by this client. Throws `invalid_grant` for what is unknown, another
 * client's, revoked or expired; use of what was used before revokes its grant, too.
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
 * Refuses what was used before. One of its two users is a thief, so all that the grant issued is revoked, in a
 * transaction of its own that outlives the refusal.
 */
async function refuseReuse({ changeState }: TokenContext, grantId: string): Promise<never> {
  await changeState(({ tx, now }) => revokeGrant(tx, grantId, now));
  return refuseGrant('it was used before; all that came of it is revoked');
}

/**
 * Uses it up by one conditional update and answers the next refresh token of its family, stored with it. Of
 * several requests at once one succeeds; to the others it was used before. [oauth.refresh.rotates]
 */
export async function useUp(context: TokenContext, { table, hash, grantId }: SingleUse): Promise<string> {
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
