import type { Database, Queryable } from '../../runtime/database/database.ts';
import { dropPartition, listPartitions, type TimePartition } from './time-partitions.ts';

/**
 * For a transaction that deletes changes, or in which a consumer comes to need earlier ones than before. One at a time:
 * each sees what the other did. Throws as `query` does.
 */
export async function needOrDelete(tx: Queryable): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock(7204118)');
}

/** Batches that one statement deletes: some thousand changes at most. */
const SLICE = 100;

/*
 * The position of the feed rises in the transaction that drops a partition, and in the statement that deletes rows. So a
 * reader that reads first and looks at the position afterwards knows whether something was missing.
 */
const RELEASE = `
WITH made AS (
  SELECT max(b.last_seq) AS seq, sum(b.size)::integer AS changes, bool_or(b.last_seq IS NULL) AS unnumbered
    FROM connector.change_batches b WHERE b.changed_at >= $1::bigint AND b.changed_at < $2::bigint
),
released AS (
  SELECT m.seq, m.changes FROM made m
   WHERE m.unnumbered IS NOT TRUE AND (m.seq < $3::bigint OR $3::bigint IS NULL OR m.seq IS NULL)
),
moved AS (
  UPDATE connector.feed f SET deleted_seq = greatest(f.deleted_seq, r.seq) FROM released r
)
SELECT coalesce(r.changes, 0) AS changes FROM released r`;

// The newest number stays: the next one follows from it.
const DELETE = `
WITH cut AS (
  SELECT least(b.last_seq, $2::bigint - 1, connector.last_seq() - 1) AS seq FROM connector.change_batches b
   WHERE b.changed_at < $1::bigint AND b.last_seq IS NOT NULL ORDER BY b.changed_at DESC LIMIT 1
),
first AS MATERIALIZED (
  SELECT b.id, b.last_seq, b.changed_at FROM connector.change_batches b
   WHERE b.last_seq <= (SELECT seq FROM cut) ORDER BY b.last_seq LIMIT ${SLICE}
),
-- The newest by time may be of a clock that is far behind, and follow young ones.
old AS MATERIALIZED (
  SELECT f.id, f.last_seq FROM first f
   WHERE f.last_seq < ALL (SELECT y.last_seq FROM first y
                            WHERE y.changed_at >= $1::bigint AND y.changed_at <= $3::bigint)
),
moved AS (
  UPDATE connector.feed f SET deleted_seq = greatest(f.deleted_seq, (SELECT max(last_seq) FROM old))
   WHERE EXISTS (SELECT FROM old)
),
-- As arrays, so that no plan reads a whole table.
batches AS (DELETE FROM connector.change_batches b WHERE b.id = ANY (ARRAY(SELECT id FROM old))),
gone AS (DELETE FROM connector.changes c WHERE c.batch = ANY (ARRAY(SELECT id FROM old)) RETURNING 1)
SELECT (SELECT count(*) FROM old)::integer AS batches, (SELECT count(*) FROM gone)::integer AS changes`;

/** Which changes are deleted. */
export interface OldChanges {
  /** They were made before this time, epoch ms. */
  readonly before: number;
  /** Epoch ms. Later changes, made by a clock that is ahead, hold up no others. Absent: there are none. */
  readonly present?: number;
  /** None from this number on, looked at in each transaction. Null: no consumer needs any. */
  readonly needed: (tx: Queryable) => Promise<number | null>;
  /** What can be deleted with its partition at most so much later stays until then. */
  readonly patienceMs?: number;
  readonly stopping: AbortSignal;
}

/**
 * Deletes old changes, partitions as a whole and others in short statements, until `stopping` aborts. Resolves with how
 * many were deleted. Throws as `query` does.
 */
export async function deleteOldChanges(
  database: Database,
  { before, present = Number.MAX_SAFE_INTEGER, needed, patienceMs = 0, stopping }: OldChanges,
): Promise<number> {
  let deleted = 0;
  let kept = before;
  for (const partition of await listPartitions(database, 'changes')) {
    const changes = partition.to <= before ? await dropChanges(database, partition, needed) : null;
    if (changes === null) {
      if (partition.to - before <= patienceMs) kept = Math.min(before, partition.from);
      break;
    }
    deleted += changes;
    if (stopping.aborted) return deleted;
  }
  for (;;) {
    const { batches, changes } = await database.transaction(async (tx) => {
      await needOrDelete(tx);
      const [row] = await tx.query<{ batches: number; changes: number }>(DELETE, [
        kept,
        await needed(tx),
        present,
      ]);
      return row ?? { batches: 0, changes: 0 };
    });
    deleted += changes;
    if (batches < SLICE || stopping.aborted) return deleted;
  }
}

/** Resolves with how many changes it contained; null if it cannot be dropped yet. */
async function dropChanges(
  database: Database,
  { name, from, to }: TimePartition,
  needed: OldChanges['needed'],
): Promise<number | null> {
  let changes = 0;
  const isDropped = await dropPartition(database, name, async (tx) => {
    await needOrDelete(tx);
    const [row] = await tx.query<{ changes: number }>(RELEASE, [from, to, await needed(tx)]);
    changes = row?.changes ?? 0;
    return row !== undefined;
  });
  return isDropped ? changes : null;
}
