import { randomUUID } from 'node:crypto';
import { and, eq } from 'drizzle-orm';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import { insertAccount, renewCredential } from '../accounts/account-store.ts';
import { accounts, pollStates } from '../db/schema.ts';
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

/** What came of storing a grant. */
export interface StoredGrant {
  readonly accountId: string;
  /** The refresh token that was in its place before and may still be good; null: there was none. */
  readonly replaced: string | null;
}

/**
 * Keeps what a consent brought, as a new account or in place of the grant that an account had before. Everything
 * else of that account stays, and what waited for the consent goes on. Null: the account was removed meanwhile.
 * Throws what the database throws; then nothing is kept.
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
    // It is this app's from now on, also if an app before it had begun it.
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

/** What failed for want of a grant says nothing any more. */
async function resumePolls(tx: Queryable, accountId: string): Promise<void> {
  const fresh = { failures: 0, notBefore: null, askedToWait: false, refusedCredentialVersion: null };
  await orm(tx)
    .update(pollStates)
    .set({ ...fresh, needsFullSweep: true })
    .where(eq(pollStates.accountId, accountId));
}
