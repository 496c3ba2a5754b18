import { and, eq, type SQL, sql } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import type { Network } from '../../runtime/public-network/public-address.ts';
import { digest } from '../../runtime/sealing/digest.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import { accounts, oauthGrants, pollStates, quotas, subscriptions } from '../db/schema.ts';
import { credentialContext } from '../db/sealed-columns.ts';

/** The account that comes from configuration. Fixed, so that replicas agree on it. */
export const FIRST_ACCOUNT_ID = 'default';

/** A credential of the service, without the credential. Times in epoch milliseconds. */
export interface Account {
  readonly id: string;
  readonly kind: 'api_key' | 'oauth';
  readonly label: string | null;
  /** Null: it only receives webhooks. */
  readonly baseUrl: string | null;
  /** The network that its calls are limited to; null if its service is the one in the settings. */
  readonly network: Network | null;
  readonly hasCredential: boolean;
  /** Its grant has ended or was deleted: the service is not called for it until the customer consents again. */
  readonly awaitsConsent: boolean;
  /** The service has refused this credential permanently: no further call is made with it. */
  readonly isRefused: boolean;
  /** Increases with each new API key or consent. */
  readonly credentialVersion: number;
  readonly subscriptionId: string;
  readonly createdAt: number;
  /** When its slots were last read; null if never. */
  readonly quotaReadAt: number | null;
}

/** It is a grant, whose tokens are in a different table, or has an API key. */
export const HAS_CREDENTIAL = sql<boolean>`${accounts.kind} = 'oauth' or ${accounts.sealedCredential} is not null`;
/** With `poll_states` joined. */
export const IS_REFUSED = sql<boolean>`coalesce(${pollStates.refusedCredentialVersion} = ${accounts.credentialVersion}, false)`;

/** The host of its service. The accounts of one host share fairly with those of others what a process has. */
export function hostOf({ baseUrl }: Pick<Account, 'baseUrl'>): string {
  return URL.parse(baseUrl ?? '')?.host ?? '';
}

const { id, kind, label, baseUrl, network, credentialVersion, subscriptionId, createdAt } = accounts;
/** With the tables of `selectAccounts` joined. */
const ACCOUNT = {
  ...{ id, kind, label, baseUrl, network, credentialVersion, subscriptionId, createdAt },
  hasCredential: HAS_CREDENTIAL,
  awaitsConsent: sql<boolean>`${kind} = 'oauth' and (${oauthGrants.accountId} is null or ${oauthGrants.endedAt} is not null)`,
  isRefused: IS_REFUSED,
  quotaReadAt: quotas.readAt,
};

function selectAccounts(db: Queryable) {
  return orm(db)
    .select(ACCOUNT)
    .from(accounts)
    .leftJoin(oauthGrants, eq(oauthGrants.accountId, id))
    .leftJoin(pollStates, eq(pollStates.accountId, id))
    .leftJoin(quotas, eq(quotas.accountId, id));
}

/** What a poll reads first. */
export interface PolledAccount {
  readonly account: Account;
  /** Null if it was never polled. */
  readonly state: typeof pollStates.$inferSelect | null;
  /** When its webhook was registered, epoch ms; null if it never was. */
  readonly registeredAt: number | null;
}

/** One account with the state of its polls, or null. */
export async function readPolledAccount(db: Queryable, accountId: string): Promise<PolledAccount | null> {
  const [row] = await orm(db)
    .select({ account: ACCOUNT, state: pollStates, registeredAt: subscriptions.registeredAt })
    .from(accounts)
    .leftJoin(oauthGrants, eq(oauthGrants.accountId, accounts.id))
    .leftJoin(pollStates, eq(pollStates.accountId, accounts.id))
    .leftJoin(quotas, eq(quotas.accountId, accounts.id))
    .leftJoin(subscriptions, eq(subscriptions.id, accounts.subscriptionId))
    .where(eq(accounts.id, accountId));
  return row ?? null;
}

/** All accounts, oldest first. */
export async function readAccounts(db: Queryable): Promise<Account[]> {
  return await selectAccounts(db).orderBy(accounts.createdAt, accounts.id);
}

/** One account, or null. */
export async function readAccount(db: Queryable, id: string): Promise<Account | null> {
  const [account] = await selectAccounts(db).where(eq(accounts.id, id));
  return account ?? null;
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
