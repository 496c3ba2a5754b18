import type { Queryable } from '../../runtime/database/database.ts';
import type { Network } from '../../runtime/public-network/public-address.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';
import { credentialContext } from '../db/sealed-columns.ts';

/** The account that comes from configuration. Fixed, so that replicas agree on it. */
export const FIRST_ACCOUNT_ID = 'default';

/** A credential of the service, without the credential. Times in epoch milliseconds. */
export interface Account {
  readonly id: string;
  readonly kind: 'api_key' | 'oauth';
  readonly label: string | null;
  /** Null: receives webhooks only. */
  readonly baseUrl: string | null;
  /** The network that its calls stay on; null: the settings name its service. */
  readonly network: Network | null;
  readonly hasCredential: boolean;
  /** Its grant has ended or was forgotten: nothing is asked of the service for it until the customer consents again. */
  readonly awaitsConsent: boolean;
  /** The service has refused this credential for good: no call is made with it any more. */
  readonly isRefused: boolean;
  /** Rises with each new API key or consent. */
  readonly credentialVersion: number;
  readonly subscriptionId: string;
  readonly createdAt: number;
  /** When its slots were last read; null: never. */
  readonly quotaReadAt: number | null;
}

const COLUMNS = `id, kind, label, base_url as "baseUrl", network,
  kind = 'oauth' or sealed_credential is not null as "hasCredential",
  kind = 'oauth' and not exists (
    select from connector.oauth_grants where account_id = accounts.id and ended_at is null) as "awaitsConsent",
  exists (select from connector.poll_states p where p.account_id = accounts.id
           and p.refused_credential_version = credential_version) as "isRefused",
  credential_version as "credentialVersion", subscription_id as "subscriptionId", created_at as "createdAt",
  (select read_at from connector.quotas where account_id = id) as "quotaReadAt"`;

/** All accounts, the oldest first. */
export async function readAccounts(db: Queryable): Promise<Account[]> {
  return await db.query<Account>(`select ${COLUMNS} from connector.accounts order by created_at, id`);
}

/** One account, or null. */
export async function readAccount(db: Queryable, id: string): Promise<Account | null> {
  const [account] = await db.query<Account>(`select ${COLUMNS} from connector.accounts where id = $1`, [id]);
  return account ?? null;
}

/** Notes that the service refuses the credential that an account had in `account`, unless it has another one by now. */
export async function noteRefused(
  db: Queryable,
  { id, credentialVersion }: Pick<Account, 'id' | 'credentialVersion'>,
): Promise<void> {
  await db.query(
    `insert into connector.poll_states as p (account_id, refused_credential_version)
     select id, credential_version from connector.accounts where id = $1 and credential_version = $2
     on conflict (account_id) do update set refused_credential_version = excluded.refused_credential_version,
       last_error_code = 'invalid_key'`,
    [id, credentialVersion],
  );
}

/**
 * Opens the stored credential; null when the account has none.
 * Throws a `SealingError` when the key that sealed it is not in the ring.
 */
export async function openCredential(
  db: Queryable,
  keyRing: KeyRing,
  accountId: string,
): Promise<string | null> {
  const [row] = await db.query<{ sealed: string | null }>(
    'select sealed_credential as sealed from connector.accounts where id = $1',
    [accountId],
  );
  if (row === undefined || row.sealed === null) return null;
  return await keyRing.open(row.sealed, credentialContext(accountId));
}
