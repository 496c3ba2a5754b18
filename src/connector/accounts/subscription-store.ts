import { and, eq, gt, isNotNull, isNull, lte, not, or, sql } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { equalSecrets } from '../../runtime/sealing/equal-secrets.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import { isHeld, isHeldByLiving, type Lease } from '../db/lease.ts';
import { accounts, pollStates, subscriptions } from '../db/schema.ts';
import { secretContext } from '../db/sealed-columns.ts';
import { IS_REFUSED } from './account-store.ts';

/*
 * The subscriptions, and the mark of a secret that is being replaced. Times are epoch ms of our clock. Throws
 * as `query` does.
 */

/**
 * The kind of lease under which a webhook is registered and its secret replaced. The rest of the lease name is
 * the subscription.
 */
export const REGISTRATION = 'registration';

const s = subscriptions;
const NEXT_VERSION = sql`${s.secretVersion} + 1`;
const UNMARKED = {
  rotationPendingOwner: null,
  rotationPendingAt: null,
  rotationCallAt: null,
  rotationCompromised: false,
};

/** Adds a subscription if it does not exist. */
export async function addSubscription(
  db: Queryable,
  subscription: typeof subscriptions.$inferInsert,
): Promise<void> {
  await orm(db).insert(subscriptions).values(subscription).onConflictDoNothing();
}

/**
 * The state of a subscription; undefined if it does not exist. `pendingAt`: since when its secret is being
 * replaced.
 */
export async function readSubscription(db: Queryable, id: string) {
  const { sealedSecret, registeredUrl, registeredAt, rotationPendingAt: pendingAt } = s;
  const [row] = await orm(db)
    .select({
      ...{ registeredUrl, registeredAt, pendingAt, configured: s.sealedConfiguredSecret },
      acceptedApp: s.acceptedApp,
      hasSecret: sql<boolean>`${sealedSecret} is not null`,
    })
    .from(s)
    .where(eq(s.id, id));
  return row;
}

export type SubscriptionState = NonNullable<Awaited<ReturnType<typeof readSubscription>>>;

/** All subscriptions with their secrets and the periods in which these are valid. */
export async function readSecrets(db: Queryable, deadlineMs: number) {
  return await orm(db, deadlineMs)
    .select({
      id: s.id,
      accountId: s.accountId,
      sealed: s.sealedSecret,
      version: s.secretVersion,
      sealedPrevious: s.sealedPreviousSecret,
      previousMaxTimestamp: s.previousMaxTimestamp,
      previousAcceptUntil: s.previousAcceptUntil,
      pendingAt: s.rotationPendingAt,
      callAt: s.rotationCallAt,
    })
    .from(s);
}

export type SecretRow = Awaited<ReturnType<typeof readSecrets>>[number];

/** A secret is replaced under the lease of its registration, so a mark without a lease was abandoned. */
const IN_DOUBT = sql<boolean>`${s.rotationPendingOwner} is not null`;
const DUE_AT = sql<number | null>`coalesce(${s.registerDueAt}, case when ${IN_DOUBT} then 0 end)`;

/** Longer than any wait after a failed registration. */
export const LONGEST_WAIT_MS = 6 * 60_000;

/**
 * Subscriptions of accounts whose registration is due at `now`, or planned too far ahead, longest due first. None with a
 * refused credential, which is not used again.
 */
export async function listDue(db: Queryable, now: number, limit: number) {
  return await orm(db)
    .select({ id: s.id, plannedAt: sql<number>`${DUE_AT}` })
    .from(s)
    .innerJoin(accounts, eq(accounts.id, s.accountId))
    .leftJoin(pollStates, eq(pollStates.accountId, accounts.id))
    .where(
      and(
        or(lte(DUE_AT, now), gt(DUE_AT, now + LONGEST_WAIT_MS)),
        not(IS_REFUSED),
        not(isHeldByLiving(REGISTRATION, s.id)),
      ),
    )
    .orderBy(DUE_AT)
    .limit(limit);
}

/**
 * When the registration of an account's subscription is planned (null if nothing is to be done); null if there is none.
 */
export async function readDue(db: Queryable, id: string) {
  const [row] = await orm(db)
    .select({
      accountId: sql<string>`${s.accountId}`,
      plannedAt: sql<number | null>`${DUE_AT}`,
      failures: s.registerFailures,
      inDoubt: sql<boolean>`${IN_DOUBT}`,
    })
    .from(s)
    .where(and(eq(s.id, id), isNotNull(s.accountId)));
  return row ?? null;
}

/** Makes the registration due. */
export async function makeDue(db: Queryable, id: string, now: number): Promise<void> {
  await orm(db).update(subscriptions).set({ registerDueAt: now, registerFailures: 0 }).where(eq(s.id, id));
}

/** The registration that was due at `dueAt` is done. If it became due again during the run, it stays due. */
export async function noteDone(db: Queryable, lease: Lease, id: string, dueAt: number): Promise<void> {
  await orm(db)
    .update(subscriptions)
    .set({ registerFailures: 0, registerDueAt: sql`nullif(${s.registerDueAt}, ${dueAt})` })
    .where(and(eq(s.id, id), isHeld(lease)));
}

/** The registration failed, and is due again at `dueAt`. */
export async function noteFailed(db: Queryable, lease: Lease, id: string, dueAt: number): Promise<void> {
  await orm(db)
    .update(subscriptions)
    .set({ registerFailures: sql`${s.registerFailures} + 1`, registerDueAt: dueAt })
    .where(and(eq(s.id, id), isHeld(lease)));
}

/**
 * Stores the signing secret of the settings in its subscription. It replaces the stored one only if it differs
 * from the one in the settings before: a registration since then has issued a newer secret. True if it did. If
 * processes start at the same time with different secrets, one of them succeeds; none replaces anything later.
 * Throws a `SealingError` if the stored secret was sealed with a key that is not in the key ring.
 */
export async function storeConfiguredSecret(
  db: Queryable,
  keyRing: KeyRing,
  { id, secret, now }: { readonly id: string; readonly secret: string; readonly now: number },
): Promise<boolean> {
  const before = (await readSubscription(db, id))?.configured ?? null;
  const context = secretContext(id);
  if (before !== null && equalSecrets(await keyRing.open(before, context), secret)) return false;
  const sealed = await keyRing.seal(secret, context);
  const stored = await orm(db)
    .update(subscriptions)
    .set({
      ...UNMARKED,
      ...{ sealedSecret: sealed, sealedConfiguredSecret: sealed, secretVersion: NEXT_VERSION },
      ...{ sealedPreviousSecret: null, previousMaxTimestamp: null, previousAcceptUntil: null },
      registeredAt: now,
    })
    .where(and(eq(s.id, id), sql`${s.sealedConfiguredSecret} is not distinct from ${before}`))
    .returning({ id: s.id });
  return stored.length > 0;
}

/** Stores the digest of the settings of an OAuth app that the service has accepted. */
export async function storeAcceptedApp(db: Queryable, id: string, acceptedApp: string): Promise<void> {
  await orm(db).update(subscriptions).set({ acceptedApp }).where(eq(s.id, id));
}

/** Stores, under the lease, where the service delivers to. The time is that of the first registration. */
export async function noteRegistered(
  db: Queryable,
  lease: Lease,
  { id, url, now }: { readonly id: string; readonly url: string; readonly now: number },
): Promise<void> {
  const isNew = or(sql`${s.registeredUrl} is distinct from ${url}`, isNull(s.registeredAt));
  await orm(db)
    .update(subscriptions)
    .set({ registeredUrl: url, registeredAt: sql`coalesce(${s.registeredAt}, ${now})` })
    .where(and(eq(s.id, id), isHeld(lease), isNew));
}

export interface NewMark {
  readonly subscriptionId: string;
  readonly owner: string;
  readonly now: number;
  /** No call is made before then, epoch ms. */
  readonly callAt: number;
  readonly compromised: boolean;
}

/**
 * Sets the mark under the lease, and resolves with the row; undefined if the lease was lost. An earlier mark is
 * `found`: the call of another process may have invalidated the stored secret.
 */
export async function markPending(db: Queryable, lease: Lease, mark: NewMark) {
  const old = orm(db)
    .select({ id: s.id, owner: s.rotationPendingOwner })
    .from(s)
    .where(eq(s.id, mark.subscriptionId))
    .for('update')
    .as('old');
  const [row] = await orm(db)
    .update(subscriptions)
    .set({
      rotationPendingOwner: mark.owner,
      rotationPendingAt: mark.now,
      rotationCallAt: sql`coalesce(${s.rotationCallAt}, ${mark.callAt})`,
      rotationCompromised: sql`${s.rotationCompromised} or ${mark.compromised}`,
    })
    .from(old)
    .where(and(eq(s.id, old.id), isHeld(lease)))
    .returning({
      hasSecret: sql<boolean>`${s.sealedSecret} is not null`,
      found: sql<boolean>`${old.owner} is not null`,
      /** When the first call may have been made. An earlier mark keeps its time. */
      callAt: sql<number>`${s.rotationCallAt}`,
      compromised: s.rotationCompromised,
    });
  return row;
}

/** Removes the mark of this owner: the stored secret is valid. */
export async function clearPending(db: Queryable, subscriptionId: string, owner: string): Promise<void> {
  await orm(db)
    .update(subscriptions)
    .set(UNMARKED)
    .where(and(eq(s.id, subscriptionId), eq(s.rotationPendingOwner, owner)));
}

/** Stores that it is unknown which secret is valid. */
export async function markAbandoned(db: Queryable, subscriptionId: string, now: number): Promise<void> {
  await orm(db)
    .update(subscriptions)
    .set({
      rotationPendingOwner: 'abandoned',
      rotationPendingAt: now,
      rotationCallAt: sql`coalesce(${s.rotationCallAt}, ${now})`,
    })
    .where(eq(s.id, subscriptionId));
}

export interface StoredSecret {
  readonly subscriptionId: string;
  readonly owner: string;
  readonly sealed: string;
  /** The previous secret is valid for timestamps up to this one … */
  readonly previousMaxTimestamp: number;
  /** … and on our clock until then; null if it is not valid. */
  readonly previousAcceptUntil: number | null;
  /** Null: unchanged. */
  readonly url: string | null;
  readonly now: number;
}

/** Stores a new secret and removes the mark; false if the lease or the mark was lost. */
export async function storeIssued(db: Queryable, lease: Lease, secret: StoredSecret): Promise<boolean> {
  const { previousMaxTimestamp, previousAcceptUntil, url, now } = secret;
  const previous =
    previousAcceptUntil === null
      ? { sealedPreviousSecret: null, previousMaxTimestamp: null }
      : { sealedPreviousSecret: sql`${s.sealedSecret}`, previousMaxTimestamp };
  const stored = await orm(db)
    .update(subscriptions)
    .set({
      ...UNMARKED,
      ...{ ...previous, previousAcceptUntil, sealedSecret: secret.sealed, secretVersion: NEXT_VERSION },
      registeredUrl: url ?? undefined,
      registeredAt: url === null ? sql`coalesce(${s.registeredAt}, ${now})` : now,
    })
    .where(and(eq(s.id, secret.subscriptionId), isHeld(lease), eq(s.rotationPendingOwner, secret.owner)))
    .returning({ id: s.id });
  return stored.length > 0;
}
