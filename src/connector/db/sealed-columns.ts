import type { Database, Queryable } from '../../runtime/database/database.ts';
import type { KeyRing } from '../../runtime/sealing/key-ring.ts';

/** The context of a sealed credential: it can be decrypted in no other row. */
export function credentialContext(accountId: string): string {
  return `account:${accountId}:credential`;
}

/**
 * The context of the sealed secrets of a subscription. All of its columns share it, because values move between
 * them.
 */
export function secretContext(subscriptionId: string): string {
  return `subscription:${subscriptionId}:secret`;
}

/** The context of a sealed token: it can be decrypted in no other row and no other column. */
export function tokenContext(accountId: string, which: 'access' | 'refresh'): string {
  return `account:${accountId}:${which}-token`;
}

/** The context of the sealed verifier of a consent. */
export function verifierContext(flowId: string): string {
  return `oauth-flow:${flowId}:verifier`;
}

/** The context of the sealed authorization address of a consent. */
export function authorizationUrlContext(flowId: string): string {
  return `oauth-flow:${flowId}:authorization-url`;
}

const accessContext = (accountId: string): string => tokenContext(accountId, 'access');
const refreshContext = (accountId: string): string => tokenContext(accountId, 'refresh');

/** The context of the sealed secrets of a consumer. Both columns share it, because values move between them. */
export function consumerSecretContext(consumer: string): string {
  return `consumer:${consumer}:secret`;
}

export function consumerRedisContext(consumer: string): string {
  return `consumer:${consumer}:redis-url`;
}

/** The columns with sealed values, and the context of each. */
const SEALED_COLUMNS = [
  { table: 'accounts', key: 'id', column: 'sealed_credential', context: credentialContext },
  { table: 'subscriptions', key: 'id', column: 'sealed_secret', context: secretContext },
  { table: 'subscriptions', key: 'id', column: 'sealed_previous_secret', context: secretContext },
  { table: 'subscriptions', key: 'id', column: 'sealed_configured_secret', context: secretContext },
  { table: 'oauth_grants', key: 'account_id', column: 'sealed_access_token', context: accessContext },
  { table: 'oauth_grants', key: 'account_id', column: 'sealed_refresh_token', context: refreshContext },
  { table: 'oauth_flows', key: 'id', column: 'sealed_verifier', context: verifierContext },
  { table: 'oauth_flows', key: 'id', column: 'sealed_authorization_url', context: authorizationUrlContext },
  { table: 'consumers', key: 'name', column: 'sealed_secret', context: consumerSecretContext },
  { table: 'consumers', key: 'name', column: 'sealed_previous_secret', context: consumerSecretContext },
  { table: 'consumers', key: 'name', column: 'sealed_redis_url', context: consumerRedisContext },
] as const;

/** A sealed value as it is stored. */
export interface SealedValue {
  /** The id of its row: an account, a subscription, or a consent. */
  readonly id: string;
  /** What it is, for people. */
  readonly what: string;
  readonly context: string;
  readonly sealed: string;
  /** Where it is stored. */
  readonly at: (typeof SEALED_COLUMNS)[number];
}

/** All sealed values. Throws as `query` does. */
export async function listSealed(db: Queryable): Promise<SealedValue[]> {
  const values: SealedValue[] = [];
  for (const at of SEALED_COLUMNS) {
    const { table, key, column, context } = at;
    const rows = await db.query<{ id: string; sealed: string }>(
      `select ${key} as id, ${column} as sealed from connector.${table} where ${column} is not null order by 1`,
    );
    const what = column.replace('sealed_', '').replaceAll('_', ' ');
    values.push(...rows.map(({ id, sealed }) => ({ id, what, context: context(id), sealed, at })));
  }
  return values;
}

/**
 * Seals values that another key sealed again with the first key of the key ring. Resolves with their number.
 * Once this ran everywhere, the old key can be removed. Throws a `SealingError` if a value was sealed with a
 * key that is not in the key ring.
 */
export async function resealSecrets(database: Database, keyRing: KeyRing): Promise<number> {
  let resealed = 0;
  for (const { id, context, sealed, at } of await listSealed(database)) {
    if (keyRing.isCurrent(sealed)) continue;
    const fresh = await keyRing.seal(await keyRing.open(sealed, context), context);
    // If another process has stored a newer secret in the meantime, that one is kept.
    await database.query(
      `update connector.${at.table} set ${at.column} = $3 where ${at.key} = $1 and ${at.column} = $2`,
      [id, sealed, fresh],
    );
    resealed += 1;
  }
  return resealed;
}
