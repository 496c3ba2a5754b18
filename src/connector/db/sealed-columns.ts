import type { Database, Queryable } from '../../runtime/database/database.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';

/** What a sealed credential is bound to: it opens in no other row. */
export function credentialContext(accountId: string): string {
  return `account:${accountId}:credential`;
}

/** What the sealed secrets of a subscription are bound to. All of its columns share it, since values move. */
export function secretContext(subscriptionId: string): string {
  return `subscription:${subscriptionId}:secret`;
}

/** What a sealed token is bound to: it opens in no other row and no other column. */
export function tokenContext(accountId: string, which: 'access' | 'refresh'): string {
  return `account:${accountId}:${which}-token`;
}

/** What the sealed verifier of a consent is bound to. */
export function verifierContext(flowId: string): string {
  return `oauth-flow:${flowId}:verifier`;
}

/** What the sealed authorization address of a consent is bound to. */
export function authorizationUrlContext(flowId: string): string {
  return `oauth-flow:${flowId}:authorization-url`;
}

const accessContext = (accountId: string): string => tokenContext(accountId, 'access');
const refreshContext = (accountId: string): string => tokenContext(accountId, 'refresh');

/** Where sealed values lie, and what each is bound to. */
const SEALED_COLUMNS = [
  { table: 'accounts', key: 'id', column: 'sealed_credential', context: credentialContext },
  { table: 'subscriptions', key: 'id', column: 'sealed_secret', context: secretContext },
  { table: 'subscriptions', key: 'id', column: 'sealed_previous_secret', context: secretContext },
  { table: 'subscriptions', key: 'id', column: 'sealed_configured_secret', context: secretContext },
  { table: 'oauth_grants', key: 'account_id', column: 'sealed_access_token', context: accessContext },
  { table: 'oauth_grants', key: 'account_id', column: 'sealed_refresh_token', context: refreshContext },
  { table: 'oauth_flows', key: 'id', column: 'sealed_verifier', context: verifierContext },
  { table: 'oauth_flows', key: 'id', column: 'sealed_authorization_url', context: authorizationUrlContext },
] as const;

/** A sealed value as it is stored. */
export interface SealedValue {
  /** Of its row: an account, a subscription, or a consent that was begun. */
  readonly id: string;
  /** What it is, for people. */
  readonly what: string;
  readonly context: string;
  readonly sealed: string;
}

/** Every sealed value there is. Throws as `query` does. */
export async function listSealed(db: Queryable): Promise<SealedValue[]> {
  const values: SealedValue[] = [];
  for (const { table, key, column, context } of SEALED_COLUMNS) {
    const rows = await db.query<{ id: string; sealed: string }>(
      `select ${key} as id, ${column} as sealed from connector.${table} where ${column} is not null order by 1`,
    );
    const what = column.replace('sealed_', '').replaceAll('_', ' ');
    values.push(...rows.map(({ id, sealed }) => ({ id, what, context: context(id), sealed })));
  }
  return values;
}

/**
 * Seals anew, with the first key of the ring, whatever another key sealed, and resolves with how many values
 * that were. After it ran everywhere the old key can leave the ring.
 * Throws a `SealingError` when a value was sealed with a key that is not in the ring.
 */
export async function resealSecrets(database: Database, keyRing: KeyRing): Promise<number> {
  let resealed = 0;
  for (const { table, key, column, context } of SEALED_COLUMNS) {
    const rows = await database.query<{ id: string; sealed: string }>(
      `select ${key} as id, ${column} as sealed from connector.${table} where ${column} is not null`,
    );
    for (const { id, sealed } of rows) {
      if (keyRing.isCurrent(sealed)) continue;
      const fresh = await keyRing.seal(await keyRing.open(sealed, context(id)), context(id));
      // Another process may have stored a newer secret meanwhile; that one stays.
      await database.query(
        `update connector.${table} set ${column} = $3 where ${key} = $1 and ${column} = $2`,
        [id, sealed, fresh],
      );
      resealed += 1;
    }
  }
  return resealed;
}
