import { randomUUID } from 'node:crypto';
import { and, eq, gt, gte, isNull, lt, lte, or, type SQL, sql } from 'drizzle-orm';
import { LIMITS } from '../../contract/service/limits.ts';
import type { ReadCreatedConnection } from '../../contract/service/read-answers.ts';
import type { Database, Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { retryOnce } from '../../runtime/database/retry-once.ts';
import { creations } from '../db/account-tables.ts';
import { mirrorCreated } from '../db/connection-rows.ts';
import { toStorableText } from '../db/storable-text.ts';

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

/** Longer than all attempts of one caller, and than the wait after them. */
export const ATTEMPT_MS = 90_000;

/** A creation whose response was lost or whose process died, and when it is attempted again. */
export type PlannedCreation = Creation & { readonly nextAttemptAt: number | null };

/** Creations that are due for another attempt, or planned for a time that is too far ahead, oldest first. */
export async function listPlannedCreations(db: Queryable, now: number): Promise<readonly PlannedCreation[]> {
  return await orm(db)
    .select({ ...SHOWN, nextAttemptAt })
    .from(creations)
    .where(or(lte(nextAttemptAt, now), gt(nextAttemptAt, now + ATTEMPT_MS)))
    .orderBy(createdAt);
}

/** Takes a creation for `ATTEMPT_MS`; false if its plan has changed: another process attempts it. */
export async function takeCreation(db: Queryable, planned: PlannedCreation, now: number): Promise<boolean> {
  const taken = await orm(db)
    .update(creations)
    .set({ nextAttemptAt: now + ATTEMPT_MS })
    .where(and(eq(creations.id, planned.id), eq(nextAttemptAt, planned.nextAttemptAt ?? 0)))
    .returning({ id: creations.id });
  return taken.length > 0;
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
 * Commits that an attempt starts, and returns the key for the call. If its process dies, another one attempts it after
 * `ATTEMPT_MS`. Null if it was created in the meantime, or is
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
      nextAttemptAt: now + ATTEMPT_MS,
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
