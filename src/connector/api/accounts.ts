import type { AccountKind, AccountState, ConnectorAccount } from '../../contract/connector/accounts.ts';
import type { Database } from '../../runtime/database/database.ts';
import { toIso, toIsoOrNull } from '../iso-time.ts';
import { ACCOUNT_KEY, cutPage, decodeCursor } from './cursors.ts';
import type { Operation } from './operations.ts';

interface AccountRow {
  readonly id: string;
  readonly kind: AccountKind;
  readonly baseUrl: string | null;
  readonly hasCredential: boolean;
  readonly refused: boolean;
  readonly subscriptionId: string;
  readonly isFirst: boolean;
  readonly registeredUrl: string | null;
  readonly registeredAt: number | null;
  readonly createdAt: number;
}

const SELECT = `
  select a.id, a.kind, a.base_url as "baseUrl", a.sealed_credential is not null as "hasCredential",
         coalesce(p.refused_credential_version = a.credential_version, false) as refused,
         a.subscription_id as "subscriptionId", coalesce(s.is_first, false) as "isFirst",
         s.registered_url as "registeredUrl", s.registered_at as "registeredAt", a.created_at as "createdAt"
    from connector.accounts a
    left join connector.subscriptions s on s.id = a.subscription_id
    left join connector.poll_states p on p.account_id = a.id
   where $1::bigint is null or (a.created_at, a.id) > ($1::bigint, $2::text)
   order by a.created_at, a.id limit $3::integer`;

/** `GET /v1/accounts`, the oldest first. Credentials are never shown. */
export function listAccounts(database: Database): Operation<'listAccounts'> {
  return async ({ query }) => {
    const [createdAt, id] = decodeCursor(ACCOUNT_KEY, query.cursor) ?? [null, null];
    const rows = await database.query<AccountRow>(SELECT, [createdAt, id, query.limit + 1]);
    const { page, nextCursor, hasMore } = cutPage(rows, query.limit, (row) => [row.createdAt, row.id]);
    return { accounts: page.map(present), nextCursor, hasMore };
  };
}

function present(row: AccountRow): ConnectorAccount {
  const path = '/webhooks/messaging';
  return {
    id: row.id,
    kind: row.kind,
    baseUrl: row.baseUrl,
    state: judgeState(row),
    subscriptionId: row.subscriptionId,
    webhookPath: row.isFirst ? path : `${path}/${row.subscriptionId}`,
    webhookUrl: row.registeredUrl,
    webhookRegisteredAt: row.registeredUrl === null ? null : toIsoOrNull(row.registeredAt),
    createdAt: toIso(row.createdAt),
  };
}

function judgeState(row: AccountRow): AccountState {
  if (!row.hasCredential) return 'webhook_only';
  if (!row.refused) return 'active';
  return row.kind === 'oauth' ? 'reauth_required' : 'credential_refused';
}
