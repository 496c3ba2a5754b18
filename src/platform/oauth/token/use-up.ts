import { refuseGrant, revokeGrant } from '../find-grant.ts';
import { storeRefreshToken } from './issue-tokens.ts';
import type { TokenContext } from './token-context.ts';

/** What is good for one use, with its table. */
interface SingleUse {
  readonly table: 'oauth_codes' | 'oauth_refresh_tokens';
  readonly hash: Buffer;
  readonly grantId: string;
}

/**
 * Refuses what was used before. One of its two users is a thief, so all that the grant issued is revoked, in a
 * transaction of its own that outlives the refusal.
 */
export async function refuseReuse({ changeState }: TokenContext, grantId: string): Promise<never> {
  await changeState(({ tx, now }) => revokeGrant(tx, grantId, now));
  return refuseGrant('it was used before; all that came of it is revoked');
}

/**
 * Uses it up by one conditional update and answers the next refresh token of its family, stored with it. Of
 * several requests at once one succeeds; to the others it was used before.
 */
export async function useUp(context: TokenContext, { table, hash, grantId }: SingleUse): Promise<string> {
  const refreshToken = await context.changeState(async (change) => {
    const used = await change.tx.query(
      `UPDATE platform.${table} SET consumed_at = $2 WHERE hash = $1 AND consumed_at IS NULL RETURNING hash`,
      [hash, change.now],
    );
    if (used.length === 0) return null;
    return storeRefreshToken(change, grantId, table === 'oauth_codes' ? 0 : 1);
  });
  return refreshToken ?? refuseReuse(context, grantId);
}
