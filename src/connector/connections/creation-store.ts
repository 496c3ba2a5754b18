import { randomUUID } from 'node:crypto';
import { and, eq, gt, gte, isNull, lt, lte, not, or, type SQL, sql } from 'drizzle-orm';
import { LIMITS } from '../../contract/service/limits.ts';
import type { ReadCreatedConnection } from '../../contract/service/read-answers.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { retryOnce } from '../../runtime/database/retry-once.ts';
import { accounts } from '../db/account-tables.ts';
import { mirrorCreated } from '../db/connection-rows.ts';
import { creations } from '../db/creation-tables.ts';
import { isHeldByLiving } from '../db/lease.ts';
import { toStorableText } from '../db/storable-text.ts';
import { dueAtOf } from '../work/planned.ts';

/** The kind of lease for a creation call to the service, by creation. */
export const CREATION = 'creation';

const { connectionId, firstAttemptAt, nextAttemptAt, idempotencyKey, unsettled, createdAt } = creations;
const SHOWN = {
  id: creations.id,
  accountId: creations.accountId,
  label: creations.label,
  /** Set once the connection was created. */
  connectionId: creations.connectionId,
  slotsAvailable: creations.slotsAvailable,
};

/** A stored request to create a connection. */
export type Creation = Readonly<Pick<typeof creations.$inferSelect, keyof typeof SHOWN>>;

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
  const stored = { id, accountId, requestKey, label, idempotencyKey: randomUUID(), createdAt: now };
  await retryOnce(() => orm(database).insert(creations).values(stored).onConflictDoNothing());
  const hasKey = requestKey === null ? undefined : eq(creations.requestKey, requestKey);
  const ofKey = hasKey && and(eq(creations.accountId, accountId), hasKey);
  const [creation] = await orm(database)
    .select(SHOWN)
    .from(creations)
    .where(or(eq(creations.id, id), ofKey));
  if (creation === undefined) throw new Error('a creation that was just stored does not exist');
  return creation;
}

/** One creation; null if it does not exist. */
export async function readCreation(db: Queryable, id: string): Promise<Creation | null> {
  const [creation] = await orm(db).select(SHOWN).from(creations).where(eq(creations.id, id));
  return creation ?? null;
}

/** Longer than the wait between attempts. */
const LONGEST_WAIT_MS = 2 * 60_000;

const IS_FREE = not(isHeldByLiving(CREATION, creations.id));

/** Up to `limit` creations whose response was lost, that are due for another attempt and that nobody is working on. */
export async function readDueCreations(
  db: Queryable,
  now: number,
  limit: number,
): Promise<readonly string[]> {
  const hasAccount = sql`exists (select from ${accounts} where ${accounts.id} = ${creations.accountId})`;
  const rows = await orm(db)
    .select({ id: creations.id })
    .from(creations)
    .where(and(or(lte(nextAttemptAt, now), gt(nextAttemptAt, now + LONGEST_WAIT_MS)), IS_FREE, hasAccount))
    .orderBy(createdAt)
    .limit(limit);
  return rows.map(({ id }) => id);
}

/** When the creation is to be attempted again, epoch ms; null: not by itself. */
export async function readDueAt(db: Queryable, id: string, now: number): Promise<number | null> {
  const [row] = await orm(db).select({ dueAt: nextAttemptAt }).from(creations).where(eq(creations.id, id));
  return row == null || row.dueAt === null ? null : dueAtOf(row.dueAt, now, LONGEST_WAIT_MS);
}

/** Makes creations due now that wait for their next attempt and that no process is working on. */
export async function attemptAtOnce(db: Queryable, now: number): Promise<void> {
  await orm(db)
    .update(creations)
    .set({ nextAttemptAt: now })
    .where(and(gt(nextAttemptAt, now), IS_FREE));
}

/** How long a creation in doubt is kept for a person to check. */
const DOUBT_KEPT_MS = 90 * 24 * 60 * 60_000;

/**
 * Deletes creations that finished two days ago, and those in doubt after 90 days. Throws what `query` throws.
 */
export async function deleteOldCreations(db: Queryable, now: number): Promise<void> {
  const isSettled = and(eq(unsettled, 0), isNull(nextAttemptAt));
  const before = sql`case when ${isSettled} then ${now - KEPT_MS}::bigint else ${now - DOUBT_KEPT_MS}::bigint end`;
  await orm(db)
    .delete(creations)
    .where(lt(sql`coalesce(${firstAttemptAt}, ${createdAt})`, before));
}

/**
 * Commits that an attempt starts, and returns the key for the call. Null if it was created in the meantime, or is
 * in doubt under a key that the service may have forgotten. A key under which nothing can have been created
 * is replaced once it is old.
 */
export async function beginAttempt(
  database: Database,
  id: string,
  slotsAvailable: number | null,
  now: number,
): Promise<string | null> {
  const since = now - KEY_GOOD_FOR_MS;
  const [begun] = await orm(database)
    .update(creations)
    .set({
      idempotencyKey: sql`case when ${firstAttemptAt} < ${since} then ${randomUUID()} else ${idempotencyKey} end`,
      firstAttemptAt: sql`case when ${firstAttemptAt} >= ${since} then ${firstAttemptAt} else ${now} end`,
      unsettled: sql`${unsettled} + 1`,
      nextAttemptAt: now,
      ...(slotsAvailable === null ? {} : { slotsAvailable }),
    })
    .where(and(isPending(id), or(eq(unsettled, 0), gte(firstAttemptAt, since))))
    .returning({ key: idempotencyKey });
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
  await orm(database)
    .update(creations)
    .set({
      unsettled: sql`greatest(${unsettled} - 1, 0)`,
      lastError: toStorableText(code),
      nextAttemptAt: sql`case when ${unsettled} > 1 then ${nextAt}::bigint end`,
    })
    .where(isPending(id));
}

/** Ends an attempt whose response was lost. It is retried at `nextAt`; null for no automatic retry. */
export async function endLost(
  database: Database,
  id: string,
  code: string,
  nextAt: number | null,
): Promise<void> {
  await orm(database)
    .update(creations)
    .set({ lastError: toStorableText(code), nextAttemptAt: nextAt })
    .where(isPending(id));
}

function isPending(id: string): SQL | undefined {
  return and(eq(creations.id, id), isNull(connectionId));
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
  created: ReadCreatedConnection,
  now: number,
): Promise<void> {
  const params = [id, created.id, toStorableText(created.status), now];
  await retryOnce(() => database.query(END_CREATED, params));
}
