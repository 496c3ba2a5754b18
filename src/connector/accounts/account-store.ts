import { and, between, eq, type SQL, sql } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { digest } from '../../runtime/sealing/digest.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import { c } from '../db/newest-messages.ts';
import { accounts, oauthGrants, pollStates, quotas, subscriptions } from '../db/schema.ts';
import { credentialContext } from '../db/sealed-columns.ts';

/** The account that comes from configuration. Fixed, so that replicas agree on it. */
export const FIRST_ACCOUNT_ID = 'default';

/** It is a grant, whose tokens are in a different table, or has an API key. */
const HAS_CREDENTIAL = sql<boolean>`${accounts.kind} = 'oauth' or ${accounts.sealedCredential} is not null`;
const AWAITS_CONSENT = sql<boolean>`${accounts.kind} = 'oauth' and (${oauthGrants.accountId} is null or ${oauthGrants.endedAt} is not null)`;
/** With `poll_states` joined. */
export const IS_REFUSED = sql<boolean>`coalesce(${pollStates.refusedCredentialVersion} = ${accounts.credentialVersion}, false)`;

/** The host of its service. The accounts of one host share fairly with those of others what a process has. */
export function hostOf({ baseUrl }: Pick<Account, 'baseUrl'>): string {
  return URL.parse(baseUrl ?? '')?.host ?? '';
}

const { id, kind, label, reference, baseUrl, network, credentialVersion, subscriptionId, createdAt } =
  accounts;
const ACCOUNT = {
  /** `baseUrl` is null if it only receives webhooks, `network` if its service is the one in the settings. */
  ...{ id, kind, label, reference, baseUrl, network, credentialVersion, subscriptionId, createdAt },
  hasCredential: HAS_CREDENTIAL,
  /** Its grant has ended or was deleted: the service is not called for it until the customer consents again. */
  awaitsConsent: AWAITS_CONSENT,
  /** Since when, and the code of the server. A deleted grant counts as never given. */
  endedAt: sql<
    number | null
  >`case when ${AWAITS_CONSENT} then coalesce(${oauthGrants.endedAt}, ${createdAt}) end`,
  endedReason: oauthGrants.endedReason,
  /** The service has refused this credential permanently: no further call is made with it. */
  isRefused: IS_REFUSED,
  registeredUrl: subscriptions.registeredUrl,
  registeredAt: subscriptions.registeredAt,
  /** Its signing secret is being replaced. */
  inDoubt: sql<boolean>`${subscriptions.rotationPendingOwner} is not null`,
};

function selectAccounts(db: Queryable) {
  return orm(db)
    .select({ account: ACCOUNT, quota: quotas, state: pollStates })
    .from(accounts)
    .leftJoin(oauthGrants, eq(oauthGrants.accountId, id))
    .leftJoin(pollStates, eq(pollStates.accountId, id))
    .leftJoin(quotas, eq(quotas.accountId, id))
    .leftJoin(subscriptions, eq(subscriptions.id, subscriptionId));
}

type Row = Awaited<ReturnType<typeof selectAccounts>>[number];
const toAccount = ({ account, quota }: Row) => ({ ...account, quota });

/** A credential of the service, without the credential, and its slots as last read. Times in epoch milliseconds. */
export type Account = ReturnType<typeof toAccount>;

/** One account with the state of its polls, null if it was never polled; or null. */
export async function readPolledAccount(db: Queryable, accountId: string) {
  const [row] = await selectAccounts(db).where(eq(id, accountId));
  return row === undefined ? null : { account: toAccount(row), state: row.state };
}

/** All accounts, oldest first. */
export async function readAccounts(db: Queryable): Promise<Account[]> {
  return (await selectAccounts(db).orderBy(createdAt, id)).map(toAccount);
}

/** One account, or null. */
export async function readAccount(db: Queryable, accountId: string): Promise<Account | null> {
  return (await readPolledAccount(db, accountId))?.account ?? null;
}

/** A page of accounts, oldest first, starting after an account's time and id; those with one reference, or all. */
export async function listAccounts(
  db: Queryable,
  page: {
    readonly after: readonly [number, string] | null;
    readonly reference: string | null;
    readonly limit: number;
  },
): Promise<Account[]> {
  const [at, ofId] = page.after ?? [];
  const rows = await selectAccounts(db)
    .where(
      and(
        at === undefined ? undefined : sql`(${createdAt}, ${id}) > (${at}, ${ofId})`,
        page.reference === null ? undefined : eq(reference, page.reference),
      ),
    )
    .orderBy(createdAt, id)
    .limit(page.limit);
  return rows.map(toAccount);
}

const DAY_MS = 24 * 60 * 60_000;
/** A license that ends within this time is worth a warning. */
const ENDING_WITHIN_MS = 7 * DAY_MS;
const MAX_ENDING = 100;

/** Valid licenses of accounts that end soon, soonest first; up to 100 of each account. */
export async function readEndingLicenses(db: Queryable, accountIds: readonly string[], now: number) {
  const soonest = orm(db)
    .select()
    .from(c)
    .where(
      and(
        sql`${c.accountId} = wanted.id`,
        eq(c.visible, true),
        eq(c.licenseValid, true),
        between(c.licenseExpires, now, now + ENDING_WITHIN_MS),
      ),
    )
    .orderBy(c.licenseExpires, c.connectionId)
    .limit(MAX_ENDING)
    .as('c');
  return await orm(db)
    .select({
      accountId: soonest.accountId,
      connectionId: soonest.connectionId,
      licenseExpires: sql<number>`${soonest.licenseExpires}`,
    })
    .from(sql`unnest(${sql.param(accountIds)}::text[]) wanted(id)`)
    .crossJoinLateral(soonest)
    .orderBy(soonest.licenseExpires, soonest.connectionId);
}

/** The account with this API key; null if there is none. */
export async function findByKey(db: Queryable, apiKey: string): Promise<string | null> {
  const [row] = await orm(db)
    .select({ id: accounts.id })
    .from(accounts)
    .where(eq(accounts.credentialDigest, digest(apiKey)));
  return row?.id ?? null;
}

type NewAccount = typeof accounts.$inferInsert;

/** Stores an account; false if the id or the API key is already taken. Throws as `query` does. */
export async function insertAccount(db: Queryable, account: NewAccount): Promise<boolean> {
  const added = await orm(db)
    .insert(accounts)
    .values(account)
    .onConflictDoNothing()
    .returning({ id: accounts.id });
  return added.length > 0;
}

/**
 * Writes the credential of an account and increases its version, so that every process uses it. Undefined
 * values are unchanged. False if no account matches `where`. Throws as `query` does.
 */
export async function renewCredential(
  db: Queryable,
  where: SQL | undefined,
  credential: Partial<NewAccount>,
): Promise<boolean> {
  const renewed = await orm(db)
    .update(accounts)
    .set({ ...credential, credentialVersion: sql`${accounts.credentialVersion} + 1` })
    .where(where)
    .returning({ id: accounts.id });
  return renewed.length > 0;
}

/** Stores that the service refuses the credential in `account`, unless the account has a new one by now. */
export async function noteRefused(
  db: Queryable,
  { id, credentialVersion }: Pick<Account, 'id' | 'credentialVersion'>,
): Promise<void> {
  const [account] = await orm(db)
    .select({ id: accounts.id })
    .from(accounts)
    .where(and(eq(accounts.id, id), eq(accounts.credentialVersion, credentialVersion)));
  if (account === undefined) return;
  const refused = { refusedCredentialVersion: credentialVersion };
  await orm(db)
    .insert(pollStates)
    .values({ accountId: id, ...refused })
    .onConflictDoUpdate({ target: pollStates.accountId, set: { ...refused, lastErrorCode: 'invalid_key' } });
}

/**
 * Decrypts the stored credential; null if the account has none. Throws a `SealingError` if the key that sealed
 * it is not in the key ring.
 */
export async function openCredential(
  db: Queryable,
  keyRing: KeyRing,
  accountId: string,
): Promise<string | null> {
  const [row] = await orm(db)
    .select({ sealed: accounts.sealedCredential })
    .from(accounts)
    .where(eq(accounts.id, accountId));
  if (row === undefined || row.sealed === null) return null;
  return await keyRing.open(row.sealed, credentialContext(accountId));
}
