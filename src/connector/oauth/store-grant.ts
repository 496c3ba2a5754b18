import { randomUUID } from 'node:crypto';
import { and, eq } from 'drizzle-orm';
import type { Database } from '../../runtime/database/database.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import { insertAccount, renewCredential } from '../accounts/account-store.ts';
import { resumePolls } from '../accounts/poll-state.ts';
import { accounts } from '../db/schema.ts';
import type { IssuedTokens } from './authorization-server.ts';
import { type Flow, noteConnected } from './flow-store.ts';
import { type GrantRow, openTokens, putGrant, readGrant, sealTokens } from './grant-store.ts';

export interface StoreGrantOptions {
  readonly database: Database;
  readonly keyRing: KeyRing;
  /** `{base_url}` of the service. */
  readonly baseUrl: string;
  /** The subscription of the app. */
  readonly subscriptionId: string;
}

/** Result of storing a grant. */
export interface StoredGrant {
  readonly accountId: string;
  /** The previous refresh token, which may still be valid; null if there was none. */
  readonly replaced: string | null;
}

/**
 * Stores the result of a consent, as a new account or in place of the previous grant of an account. Everything
 * else of that account is unchanged, and work that waited for the consent continues. Null if the account was
 * removed in the meantime. Throws what the database throws; then nothing is stored.
 */
export async function storeGrant(
  options: StoreGrantOptions,
  flow: Flow,
  issued: IssuedTokens,
  now: number,
): Promise<StoredGrant | null> {
  const { database, keyRing, baseUrl, subscriptionId } = options;
  const accountId = flow.accountId ?? randomUUID();
  const pair = await sealTokens(keyRing, accountId, issued, now);
  const before = await database.transaction(async (tx): Promise<GrantRow | null | 'gone'> => {
    // It belongs to this app from now on, even if another app created it.
    const { label, reference } = flow;
    const isIt = and(eq(accounts.id, accountId), eq(accounts.kind, 'oauth'));
    const kept = { label: label ?? undefined, reference: reference ?? undefined, baseUrl, subscriptionId };
    if (flow.accountId === null)
      await insertAccount(tx, { ...kept, id: accountId, kind: 'oauth', createdAt: now });
    else if (!(await renewCredential(tx, isIt, kept))) return 'gone';
    const replaced = await readGrant(tx, accountId);
    await putGrant(tx, { accountId, ...pair, scope: issued.scope, refreshedAt: now });
    await resumePolls(tx, accountId);
    await noteConnected(tx, flow.id, accountId);
    return replaced;
  });
  if (before === 'gone') return null;
  const stillGood = before !== null && before.endedAt === null;
  return { accountId, replaced: stillGood ? (await openTokens(keyRing, before)).refreshToken : null };
}
