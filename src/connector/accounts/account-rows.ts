import { and, between, eq, sql } from 'drizzle-orm';
import type { AccountKind } from '../../contract/connector/accounts.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { c } from '../db/newest-messages.ts';
import { accounts, oauthGrants, pollStates, subscriptions } from '../db/schema.ts';
import { HAS_CREDENTIAL, IS_REFUSED } from './account-store.ts';
import { type Quota, readQuotas } from './quota.ts';

const DAY_MS = 24 * 60 * 60_000;
/** A license that ends within this time is worth a warning. */
const ENDING_WITHIN_MS = 7 * DAY_MS;
const MAX_ENDING = 100;

export interface EndingLicense {
  readonly connectionId: string;
  readonly licenseExpires: number;
}

/** An account as the API shows it. Times in epoch milliseconds. */
export interface AccountRow {
  readonly id: string;
  readonly kind: AccountKind;
  readonly label: string | null;
  readonly reference: string | null;
  readonly baseUrl: string | null;
  readonly hasCredential: boolean;
  /** The service refuses this credential permanently. */
  readonly refused: boolean;
  /**
   * When its grant ended, and the code of the server; null if the grant is valid or the account has none. A
   * deleted grant counts as never given.
   */
  readonly endedAt: number | null;
  readonly endedReason: string | null;
  readonly subscriptionId: string;
  readonly isFirst: boolean;
  readonly registeredUrl: string | null;
  readonly registeredAt: number | null;
  /** Its signing secret is being replaced. */
  readonly inDoubt: boolean;
  readonly createdAt: number;
  readonly quota: Quota | null;
  /** Valid licenses that end soon, soonest first. */
  readonly endingLicenses: readonly EndingLicense[];
}

function selectRows(db: Queryable) {
  const { id, kind, label, reference, baseUrl, subscriptionId, createdAt } = accounts;
  const { accountId, endedAt, endedReason } = oauthGrants;
  return orm(db)
    .select({
      ...{ id, kind, label, reference, baseUrl, subscriptionId, createdAt, endedReason },
      hasCredential: HAS_CREDENTIAL,
      endedAt: sql<
        number | null
      >`case when ${kind} = 'oauth' and ${accountId} is null then ${createdAt} else ${endedAt} end`,
      refused: IS_REFUSED,
      isFirst: sql<boolean>`coalesce(${subscriptions.isFirst}, false)`,
      registeredUrl: subscriptions.registeredUrl,
      registeredAt: subscriptions.registeredAt,
      inDoubt: sql<boolean>`${subscriptions.rotationPendingOwner} is not null`,
    })
    .from(accounts)
    .leftJoin(subscriptions, eq(subscriptions.id, subscriptionId))
    .leftJoin(pollStates, eq(pollStates.accountId, id))
    .leftJoin(oauthGrants, eq(accountId, id));
}

type Stored = Omit<AccountRow, 'quota' | 'endingLicenses'>;

/** A page of accounts, oldest first, starting after an account's time and id; those with one reference, or all. */
export async function listAccountRows(
  db: Queryable,
  page: {
    readonly after: readonly [number, string] | null;
    readonly reference: string | null;
    readonly limit: number;
    readonly now: number;
  },
): Promise<AccountRow[]> {
  const { createdAt, id } = accounts;
  const [at, ofId] = page.after ?? [];
  const rows = await selectRows(db)
    .where(
      and(
        at === undefined ? undefined : sql`(${createdAt}, ${id}) > (${at}, ${ofId})`,
        page.reference === null ? undefined : eq(accounts.reference, page.reference),
      ),
    )
    .orderBy(createdAt, id)
    .limit(page.limit);
  return await complete(db, rows, page.now);
}

/** One account; null if it does not exist. */
export async function readAccountRow(db: Queryable, id: string, now: number): Promise<AccountRow | null> {
  const rows = await selectRows(db).where(eq(accounts.id, id));
  const [row] = await complete(db, rows, now);
  return row ?? null;
}

async function complete(db: Queryable, rows: readonly Stored[], now: number): Promise<AccountRow[]> {
  if (rows.length === 0) return [];
  const quotas = new Map((await readQuotas(db)).map((quota) => [quota.accountId, quota]));
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
  const ending = await orm(db)
    .select({
      accountId: soonest.accountId,
      connectionId: soonest.connectionId,
      licenseExpires: sql<number>`${soonest.licenseExpires}`,
    })
    .from(sql`unnest(${sql.param(rows.map(({ id }) => id))}::text[]) wanted(id)`)
    .crossJoinLateral(soonest)
    .orderBy(soonest.licenseExpires, soonest.connectionId);
  return rows.map((row) => ({
    ...row,
    quota: quotas.get(row.id) ?? null,
    endingLicenses: ending.filter(({ accountId }) => accountId === row.id),
  }));
}
