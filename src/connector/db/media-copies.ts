import { count, sql } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { CHANGE } from './facts.ts';
import { heldByLiving, heldLease, type Lease } from './lease.ts';
import { messageUpdates } from './merge-statement.ts';
import { COPY_WAITS, mediaKeeping, messages, type StoredCopy } from './message-tables.ts';

/* The copies of files, as the rows of their messages know them. Each function throws as `query` does. */

/** Maximum wait before a file is tried again. A time further ahead was planned by a clock that is wrong. */
export const LONGEST_WAIT_MS = 3_600_000;

/** From now on, messages with a file wait for the worker, whichever process stores them; or no longer. */
export async function setMediaKeeping(db: Queryable, keeps: boolean): Promise<void> {
  if (keeps) await orm(db).insert(mediaKeeping).values({}).onConflictDoNothing();
  else await orm(db).delete(mediaKeeping);
}

/** A message, as the key of its work: both ids as JSON. */
const KEY = `json_build_array(m.connection_id, m.id)::text`;
/** The connection of a key. */
export const connectionOf = (key: string): string | undefined => (JSON.parse(key) as string[])[0];

/**
 * Up to `limit` keys of files that are due, or planned too far ahead, and that no living process works on. `kind` is that
 * of its leases.
 */
export async function readDueCopies(
  db: Queryable,
  kind: string,
  now: number,
  limit: number,
): Promise<{ readonly key: string; readonly plannedAt: number | null }[]> {
  return await db.query(
    `SELECT due.key, due.media_due_at AS "plannedAt" FROM (
       SELECT ${KEY} AS key, m.media_due_at, m.first_seen_at FROM connector.messages m
        WHERE m.${COPY_WAITS}
          AND (m.media_due_at IS NULL OR m.media_due_at <= $2::bigint OR m.media_due_at > $2::bigint + ${LONGEST_WAIT_MS})
     ) due
     WHERE NOT ${heldByLiving(`$1 || ':' || due.key`)}
     ORDER BY due.media_due_at NULLS FIRST, due.first_seen_at LIMIT $3::bigint`,
    [kind, now, limit],
  );
}

/** A file of which the worker has something to do. */
export interface WaitingCopy {
  readonly connectionId: string;
  readonly id: string;
  readonly accountId: string;
  /** Null if the person was erased. */
  readonly mediaUrl: string | null;
  readonly mediaType: string | null;
  readonly createdAt: number;
  readonly copy: StoredCopy;
  /** Null: at once. */
  readonly dueAt: number | null;
}

/** Null: there is nothing to do. */
export async function readWaitingCopy(db: Queryable, key: string): Promise<WaitingCopy | null> {
  const [row] = await db.query<WaitingCopy>(
    `SELECT m.connection_id AS "connectionId", m.id, coalesce(c.account_id, m.account_id) AS "accountId",
            m.media_url AS "mediaUrl", m.media_type AS "mediaType", m.created_at AS "createdAt",
            m.media_copy AS copy, m.media_due_at AS "dueAt"
       FROM connector.messages m LEFT JOIN connector.connections c ON c.connection_id = m.connection_id
      WHERE m.connection_id = $1 AND m.id = $2 AND m.${COPY_WAITS}`,
    JSON.parse(key) as string[],
  );
  return row ?? null;
}

/** What becomes of a copy. Null: nothing is known of it any more. */
export interface NextCopy {
  readonly copy: StoredCopy | null;
  readonly dueAt?: number;
  /** Only if the file still has this address. Absent or null: whichever it has. */
  readonly ofUrl?: string | null;
}

type Found = Pick<WaitingCopy, 'connectionId' | 'id' | 'copy'>;

// An erasure and a lost lease change nothing.
const update = (mask: number): string => `
   UPDATE connector.messages m
      SET media_copy = ($6::text)::jsonb, media_due_at = $7::bigint, previous_status = m.status,
          change_mask = ${mask}
    WHERE m.connection_id = $3 AND m.id = $4 AND m.media_copy ->> 'state' = $5
      AND ($8::text IS NULL OR m.media_url = $8)
      AND EXISTS (${heldLease('$1', '$2')})
   RETURNING m.*`;
const NOTE = `WITH kept AS (${update(CHANGE.bookkeeping)}) SELECT count(*) AS count FROM kept`;

const TELL = `WITH kept AS (${update(CHANGE.fields)}),
${messageUpdates('kept', '$9::bigint', 'media')}
SELECT count(*) AS count FROM kept`;

const parametersOf = (lease: Lease, { connectionId, id, copy }: Found, next: NextCopy): unknown[] => [
  lease.name,
  lease.fence,
  connectionId,
  id,
  copy.state,
  next.copy === null ? null : JSON.stringify(next.copy),
  next.dueAt ?? null,
  next.ofUrl ?? null,
];

/** Writes what only the worker needs to know. False: the state is another one by now, or the lease is lost. */
export async function noteCopy(db: Queryable, lease: Lease, file: Found, next: NextCopy): Promise<boolean> {
  const [row] = await db.query<{ count: number }>(NOTE, parametersOf(lease, file, next));
  return row?.count === 1;
}

/** Writes a state, with its change in the feed. False as `noteCopy`. */
export async function tellCopy(
  db: Queryable,
  lease: Lease,
  file: Found,
  next: NextCopy,
  now: number,
): Promise<boolean> {
  const [row] = await db.query<{ count: number }>(TELL, [...parametersOf(lease, file, next), now]);
  return row?.count === 1;
}

const ASK = `
WITH kept AS (
  UPDATE connector.messages m
     SET media_copy = jsonb_build_object('state', 'pending', 'since', $3::bigint), media_due_at = NULL,
         previous_status = m.status, change_mask = ${CHANGE.fields}
   WHERE m.connection_id = $1 AND m.id = $2 AND NOT m.erased AND m.media_url IS NOT NULL
     AND coalesce(m.media_copy ->> 'state', 'gone') IN ('gone', 'failed')
  RETURNING m.*
),
${messageUpdates('kept', '$3::bigint', 'api')}
SELECT count(*) AS count FROM kept`;

/** Has the worker fetch a file that it does not keep, or failed to fetch. Changes nothing in another state. */
export async function askForCopy(
  db: Queryable,
  { connectionId, id }: { readonly connectionId: string; readonly id: string },
  now: number,
): Promise<void> {
  await db.query(ASK, [connectionId, id, now]);
}

/** The keys of all copies of messages with these numbers. */
export async function listCopies(db: Queryable, phones: readonly string[]): Promise<string[]> {
  const rows = await db.query<{ key: string }>(
    `SELECT m.media_copy ->> 'key' AS key FROM connector.connections c
       JOIN connector.messages m ON m.connection_id = c.connection_id AND m.peer = ANY($1::text[])
      WHERE m.media_copy ->> 'state' = 'stored'`,
    [phones],
  );
  return rows.map(({ key }) => key);
}

/** How many files wait, and since when the oldest does; null if none does. */
export async function readWaitingFiles(
  db: Queryable,
): Promise<{ readonly waiting: number; readonly oldestAt: number | null }> {
  const since = sql`coalesce((${messages.mediaCopy} ->> 'since')::bigint, ${messages.firstSeenAt})`;
  const [row] = await orm(db)
    .select({ waiting: count(), oldestAt: sql<number | null>`min(${since})` })
    .from(messages)
    .where(sql.raw(COPY_WAITS));
  return row ?? { waiting: 0, oldestAt: null };
}
