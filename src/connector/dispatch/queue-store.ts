import { and, eq } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { dispatchQueues } from '../db/dispatch-tables.ts';
import { heldByLiving, heldLease, type Lease } from '../db/lease.ts';
import { changeColumns, type StoredChange } from '../feed/present-change.ts';
import { dueAtOf, dueAtSql } from '../work/planned.ts';

/** The kind of lease that protects a queue. The rest of the lease name is the connection. */
export const DISPATCH = 'dispatch';

/**
 * A run that has the queue of a connection. Every write names its fencing token, so a run that lost its lease
 * writes nothing.
 */
export interface QueueRun {
  readonly connectionId: string;
  readonly fence: number;
}

/** A change in the queue of its connection. */
export interface QueuedChange {
  readonly stored: StoredChange;
  /** Calls that failed. */
  readonly attempts: number;
}

/** The queue at the start of a run. */
export interface OpenedQueue {
  /**
   * When its first change may be called, epoch ms. Null if the queue is empty. If later than now, the run did
   * not start.
   */
  readonly dueAt: number | null;
  /** The previous run ended without a result, usually with its process: the first change may be the cause. */
  readonly wasLeft: boolean;
  /** The first changes of the queue, in order. */
  readonly changes: readonly QueuedChange[];
}

/** Longer than any wait after a failed call. */
const LONGEST_WAIT_MS = 3 * 60_000;

const OPEN = `
WITH before AS MATERIALIZED (
  SELECT ${dueAtSql('l.due_at', '$4::bigint', LONGEST_WAIT_MS)} AS due_at, l.run_fence
    FROM connector.dispatch_queues l WHERE l.connection_id = $1
     AND EXISTS (${heldLease('$3', '$2')}) FOR UPDATE OF l
),
opened AS (
  UPDATE connector.dispatch_queues l SET run_fence = $2::bigint, due_at = b.due_at FROM before b
   WHERE l.connection_id = $1 AND b.due_at <= $4::bigint
)
SELECT b.due_at, b.run_fence IS NOT NULL AND b.run_fence <> $2::bigint AS was_left, q.*
  FROM before b LEFT JOIN LATERAL (
    SELECT n.seq, n.attempts, c.*
      FROM connector.dispatch_head($1, CASE WHEN b.due_at <= $4::bigint THEN $5::integer ELSE 0 END) n
     CROSS JOIN LATERAL (
      SELECT ${changeColumns('h')} FROM connector.changes h
       WHERE h.batch = n.batch AND h.position = n.position OFFSET 0) c
     ORDER BY n.seq) q ON true`;

interface OpenRow extends Omit<StoredChange, 'seq'> {
  readonly due_at: number | null;
  readonly was_left: boolean;
  readonly seq: number | null;
  readonly attempts: number;
}

/**
 * Starts a run if the queue is due, or continues it, and reads up to `limit` changes. Null if there is no such
 * queue, or another process has it now.
 */
export async function openQueue(
  db: Queryable,
  lease: Lease,
  {
    connectionId,
    now,
    limit,
  }: { readonly connectionId: string; readonly now: number; readonly limit: number },
): Promise<OpenedQueue | null> {
  const rows = await db.query<OpenRow>(OPEN, [connectionId, lease.fence, lease.name, now, limit]);
  const [first] = rows;
  if (first === undefined) return null;
  const changes = rows.flatMap(({ seq, attempts, ...row }) =>
    seq === null ? [] : [{ stored: { ...row, seq }, attempts }],
  );
  return { dueAt: first.due_at, wasLeft: first.was_left, changes };
}

/** Number of changes in the queue after a step; null if another run has it now. */
export type Step = number | null;

/**
 * Removes the change `$3` from the queue. After the last one, the queue is empty and the run has ended. The
 * statement must select from `gone`: a function whose rows nobody selects is not called.
 */
const STEP = `
WITH stepped AS (
  UPDATE connector.dispatch_queues l
     SET waiting = l.waiting - 1, set_aside = l.set_aside + $4::integer,
         due_at = CASE WHEN l.waiting > 1 THEN l.due_at END,
         run_fence = CASE WHEN l.waiting > 1 THEN l.run_fence END
   WHERE l.connection_id = $1 AND l.run_fence = $2::bigint
  RETURNING waiting
),
gone AS MATERIALIZED (
  SELECT q.* FROM stepped s CROSS JOIN LATERAL connector.leave_dispatch_queue($1, $3::bigint) q
)`;

/** Commits that the handler has accepted the change. */
export async function noteTaken(db: Queryable, run: QueueRun, seq: number): Promise<Step> {
  return readStep(
    await db.query(`${STEP} SELECT s.waiting FROM stepped s LEFT JOIN gone ON true`, [
      run.connectionId,
      run.fence,
      seq,
      0,
    ]),
  );
}

const SET_ASIDE = `${STEP},
kept AS (
  INSERT INTO connector.dead_letters (seq, connection_id, batch, position, attempts, last_error, at)
  SELECT g.seq, g.connection_id, g.batch, g.position, $5::integer, $6, $7::bigint FROM gone g
)
SELECT s.waiting FROM stepped s LEFT JOIN gone ON true`;

/** Sets the change aside as a dead letter, and continues with the next one. */
export async function setAside(
  db: Queryable,
  run: QueueRun,
  letter: { readonly seq: number; readonly attempts: number; readonly error: string; readonly now: number },
): Promise<Step> {
  const { seq, attempts, error, now } = letter;
  return readStep(await db.query(SET_ASIDE, [run.connectionId, run.fence, seq, 1, attempts, error, now]));
}

/**
 * The handler failed: the queue waits until `dueAt`, and the run has ended. False if another run has the queue.
 */
export async function noteFailure(
  db: Queryable,
  run: QueueRun,
  failure: { readonly seq: number; readonly attempts: number; readonly dueAt: number },
): Promise<boolean> {
  const rows = await db.query(
    `WITH ended AS (
       UPDATE connector.dispatch_queues SET due_at = $4::bigint, run_fence = NULL
        WHERE connection_id = $1 AND run_fence = $2::bigint RETURNING connection_id),
     counted AS (
       INSERT INTO connector.dispatch_entries (connection_id, seq, batch, position, attempts)
       SELECT q.connection_id, q.seq, q.batch, q.position, $5::integer
         FROM ended e CROSS JOIN LATERAL connector.leave_dispatch_queue($1, $3::bigint) q)
     SELECT FROM ended`,
    [run.connectionId, run.fence, failure.seq, failure.dueAt, failure.attempts],
  );
  return rows.length > 0;
}

/** Ends the run with changes left, none of which is the cause. */
export async function endRun(db: Queryable, run: QueueRun): Promise<void> {
  const { connectionId, runFence } = dispatchQueues;
  await orm(db)
    .update(dispatchQueues)
    .set({ runFence: null })
    .where(and(eq(connectionId, run.connectionId), eq(runFence, run.fence)));
}

/** When the first change of the queue may be called, epoch ms; null if the queue is empty. */
export async function readDueAt(db: Queryable, connectionId: string, now: number): Promise<number | null> {
  const [row] = await orm(db)
    .select({ dueAt: dispatchQueues.dueAt })
    .from(dispatchQueues)
    .where(eq(dispatchQueues.connectionId, connectionId));
  return row == null || row.dueAt === null ? null : dueAtOf(row.dueAt, now, LONGEST_WAIT_MS);
}

/** Queues that are due and have no owner, longest wait first. */
export async function readDueQueues(db: Queryable, now: number, limit: number): Promise<readonly string[]> {
  const rows = await db.query<{ connectionId: string }>(
    `SELECT l.connection_id AS "connectionId" FROM connector.dispatch_queues l
      WHERE ${dueAtSql('l.due_at', '$1::bigint', LONGEST_WAIT_MS)} <= $1::bigint AND NOT ${heldByLiving(`'${DISPATCH}:' || l.connection_id`)}
      ORDER BY l.due_at LIMIT $2::integer`,
    [now, limit],
  );
  return rows.map((row) => row.connectionId);
}

function readStep([row]: readonly object[]): Step {
  return (row as { readonly waiting: number } | undefined)?.waiting ?? null;
}
