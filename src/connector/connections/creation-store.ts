import { randomUUID } from 'node:crypto';
import { LIMITS } from '../../contract/service/limits.ts';
import type { ReadCreatedConnection } from '../../contract/service/read-answers.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { retryOnce } from '../../runtime/database/retry-once.ts';
import { mirrorCreated } from '../db/connection-rows.ts';
import { heldByLiving } from '../db/lease.ts';
import { toStorableText } from '../db/storable-text.ts';

/** The kind of lease for a creation call to the service, by creation. */
export const CREATION = 'creation';

/** A stored request to create a connection. */
export interface Creation {
  readonly id: string;
  readonly accountId: string;
  readonly label: string | null;
  /** Set once the connection was created. */
  readonly connectionId: string | null;
  readonly slotsAvailable: number | null;
}

const COLUMNS = `id, account_id as "accountId", label, connection_id as "connectionId",
  slots_available as "slotsAvailable"`;

/** The service forgets a key after 24 hours; nothing in doubt is retried in the last hour before that. */
export const KEY_GOOD_FOR_MS = LIMITS.idempotencyKeyLifetimeMs - 60 * 60_000;
/** One day longer than the life of the service's key and of the CRM's key. */
const KEPT_MS = 2 * LIMITS.idempotencyKeyLifetimeMs;

/**
 * Commits a request, with a new idempotency key for the service. If a request with the CRM's own key already
 * exists, that one is returned: compare its label.
 */
export async function placeCreation(
  database: Database,
  request: { readonly accountId: string; readonly requestKey: string | null; readonly label: string | null },
  now: number,
): Promise<Creation> {
  const { accountId, requestKey, label } = request;
  const id = randomUUID();
  const params = [id, accountId, requestKey, label, randomUUID(), now];
  await retryOnce(() =>
    database.query(
      `insert into connector.creations (id, account_id, request_key, label, idempotency_key, created_at)
       values ($1, $2, $3, $4, $5, $6::bigint) on conflict do nothing`,
      params,
    ),
  );
  const [creation] = await database.query<Creation>(
    `select ${COLUMNS} from connector.creations where id = $1 or (account_id = $2 and request_key = $3)`,
    [id, accountId, requestKey],
  );
  if (creation === undefined) throw new Error('a creation that was just stored does not exist');
  return creation;
}

/** One creation; null if it does not exist. */
export async function readCreation(db: Queryable, id: string): Promise<Creation | null> {
  const [creation] = await db.query<Creation>(`select ${COLUMNS} from connector.creations where id = $1`, [
    id,
  ]);
  return creation ?? null;
}

/** Up to `limit` creations whose response was lost, that are due for another attempt and that nobody is working on. */
export async function readDueCreations(
  db: Queryable,
  now: number,
  limit: number,
): Promise<readonly string[]> {
  const rows = await db.query<{ id: string }>(
    `select id from connector.creations
      where next_attempt_at <= $1::bigint
        and not ${heldByLiving(`'${CREATION}:' || id`)}
        and exists (select from connector.accounts a where a.id = account_id)
      order by created_at limit $2::integer`,
    [now, limit],
  );
  return rows.map(({ id }) => id);
}

/** When the creation is to be attempted again, epoch ms; null: not by itself. */
export async function readDueAt(db: Queryable, id: string): Promise<number | null> {
  const [row] = await db.query<{ dueAt: number | null }>(
    'select next_attempt_at as "dueAt" from connector.creations where id = $1',
    [id],
  );
  return row?.dueAt ?? null;
}

/** Makes creations due now that wait for their next attempt and that no process is working on. */
export async function attemptAtOnce(db: Queryable, now: number): Promise<void> {
  await db.query(
    `update connector.creations set next_attempt_at = $1::bigint
      where next_attempt_at > $1::bigint and not ${heldByLiving(`'${CREATION}:' || id`)}`,
    [now],
  );
}

/** How long a creation in doubt is kept for a person to check. */
const DOUBT_KEPT_MS = 90 * 24 * 60 * 60_000;

/**
 * Deletes creations that finished two days ago, and those in doubt after 90 days. Throws what `query` throws.
 */
export async function forgetOldCreations(db: Queryable, now: number): Promise<void> {
  await db.query(
    `delete from connector.creations
      where coalesce(first_attempt_at, created_at) <
            case when unsettled = 0 and next_attempt_at is null then $1::bigint else $2::bigint end`,
    [now - KEPT_MS, now - DOUBT_KEPT_MS],
  );
}

/**
 * Commits that an attempt starts, and returns the key for the call. Null if it was created meanwhile, or is
 * in doubt under a key that the service may have forgotten. A key under which nothing can have been created
 * is replaced once it is old.
 */
export async function beginAttempt(
  database: Database,
  id: string,
  slotsAvailable: number | null,
  now: number,
): Promise<string | null> {
  const [begun] = await database.query<{ key: string }>(
    `update connector.creations c
        set idempotency_key = case when c.first_attempt_at < $2::bigint then $3 else c.idempotency_key end,
            first_attempt_at = case when c.first_attempt_at >= $2::bigint then c.first_attempt_at else $4::bigint end,
            unsettled = c.unsettled + 1, next_attempt_at = $4::bigint,
            slots_available = coalesce($5::integer, c.slots_available)
      where c.id = $1 and c.connection_id is null
        and (c.unsettled = 0 or c.first_attempt_at >= $2::bigint)
     returning c.idempotency_key as key`,
    [id, now - KEY_GOOD_FOR_MS, randomUUID(), now, slotsAvailable],
  );
  return begun?.key ?? null;
}

/**
 * Ends an attempt that created nothing. If an earlier attempt may have created it, it is retried at `nextAt`.
 */
export async function endRefused(
  database: Database,
  id: string,
  code: string,
  nextAt: number,
): Promise<void> {
  await database.query(
    `update connector.creations
        set unsettled = greatest(unsettled - 1, 0), last_error = $2,
            next_attempt_at = case when unsettled > 1 then $3::bigint end
      where id = $1 and connection_id is null`,
    [id, toStorableText(code), nextAt],
  );
}

/** Ends an attempt whose response was lost. It is retried at `nextAt`; null for no automatic retry. */
export async function endLost(
  database: Database,
  id: string,
  code: string,
  nextAt: number | null,
): Promise<void> {
  await database.query(
    `update connector.creations set last_error = $2, next_attempt_at = $3::bigint
      where id = $1 and connection_id is null`,
    [id, toStorableText(code), nextAt],
  );
}

const END_CREATED = `
WITH done AS (
  UPDATE connector.creations SET connection_id = $2, unsettled = 0, next_attempt_at = NULL, last_error = NULL
   WHERE id = $1 AND connection_id IS NULL
  RETURNING account_id, label
),
${mirrorCreated({ id: '$2', status: '$3', now: '$4::bigint', from: 'FROM done d' })}
SELECT FROM placed`;

/**
 * Stores which connection a request created, and mirrors it: the service lists it only once it has paired.
 */
export async function endCreated(
  database: Database,
  id: string,
  { id: connectionId, status }: ReadCreatedConnection,
  now: number,
): Promise<void> {
  const params = [id, connectionId, toStorableText(status), now];
  await retryOnce(() => database.query(END_CREATED, params));
}
