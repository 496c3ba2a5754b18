import type { AccountKind } from '../../contract/connector/accounts.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { type Quota, readQuotas } from './quota.ts';

const DAY_MS = 24 * 60 * 60_000;
/** A licence that ends within this time is worth a look. */
const ENDING_WITHIN_MS = 7 * DAY_MS;
const MOST_ENDING = 100;

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
  /** The service refuses this credential for good. */
  readonly refused: boolean;
  /**
   * When its grant ended, and the code that the server gave; null: it stands, or the account is none. A grant that was
   * forgotten counts as never given.
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
  /** Valid licences that end soon, the soonest first. */
  readonly endingLicenses: readonly EndingLicense[];
}

const SELECT = `
  select a.id, a.kind, a.label, a.reference, a.base_url as "baseUrl",
         a.kind = 'oauth' or a.sealed_credential is not null as "hasCredential",
         case when a.kind = 'oauth' and g.account_id is null then a.created_at else g.ended_at end as "endedAt",
         g.ended_reason as "endedReason",
         coalesce(p.refused_credential_version = a.credential_version, false) as refused,
         a.subscription_id as "subscriptionId", coalesce(s.is_first, false) as "isFirst",
         s.registered_url as "registeredUrl", s.registered_at as "registeredAt",
         s.rotation_pending_owner is not null as "inDoubt", a.created_at as "createdAt"
    from connector.accounts a
    left join connector.subscriptions s on s.id = a.subscription_id
    left join connector.poll_states p on p.account_id = a.id
    left join connector.oauth_grants g on g.account_id = a.id`;

type Stored = Omit<AccountRow, 'quota' | 'endingLicenses'>;

/** A page of accounts, the oldest first, beginning after an account's time and id; of one reference, or of all. */
export async function listAccountRows(
  db: Queryable,
  page: {
    readonly after: readonly [number, string] | null;
    readonly reference: string | null;
    readonly limit: number;
    readonly now: number;
  },
): Promise<AccountRow[]> {
  const [createdAt, id] = page.after ?? [null, null];
  const rows = await db.query<Stored>(
    `${SELECT} where ($1::bigint is null or (a.created_at, a.id) > ($1::bigint, $2::text))
       and ($4::text is null or a.reference = $4::text)
     order by a.created_at, a.id limit $3::integer`,
    [createdAt, id, page.limit, page.reference],
  );
  return await complete(db, rows, page.now);
}

/** One account; null when there is none such. */
export async function readAccountRow(db: Queryable, id: string, now: number): Promise<AccountRow | null> {
  const rows = await db.query<Stored>(`${SELECT} where a.id = $1`, [id]);
  const [row] = await complete(db, rows, now);
  return row ?? null;
}

async function complete(db: Queryable, rows: readonly Stored[], now: number): Promise<AccountRow[]> {
  if (rows.length === 0) return [];
  const quotas = new Map((await readQuotas(db)).map((quota) => [quota.accountId, quota]));
  const ending = await db.query<EndingLicense & { accountId: string }>(
    `select c.account_id as "accountId", c.connection_id as "connectionId", c.license_expires as "licenseExpires"
       from unnest($1::text[]) as wanted (id)
      cross join lateral (
        select account_id, connection_id, license_expires from connector.connections
         where account_id = wanted.id and visible and license_valid
           and license_expires between $2::bigint and $3::bigint
         order by license_expires, connection_id limit ${MOST_ENDING}) c
      order by c.license_expires, c.connection_id`,
    [rows.map(({ id }) => id), now, now + ENDING_WITHIN_MS],
  );
  return rows.map((row) => ({
    ...row,
    quota: quotas.get(row.id) ?? null,
    endingLicenses: ending.filter(({ accountId }) => accountId === row.id),
  }));
}
