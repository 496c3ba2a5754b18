import type { Queryable } from '../../runtime/database/database.ts';

/** Batches that one statement deletes: some thousand changes at most. */
const SLICE = 100;

/*
 * The position of the feed rises in the statement that deletes, so a reader that reads first and looks at the position
 * afterwards knows whether something was missing. The newest number stays: the next one follows from it.
 */
const DELETE = `
WITH cut AS (
  SELECT least(b.last_seq, $2::bigint - 1, connector.last_seq() - 1) AS seq FROM connector.change_batches b
   WHERE b.changed_at < $1::bigint AND b.last_seq IS NOT NULL ORDER BY b.changed_at DESC LIMIT 1
),
old AS MATERIALIZED (
  SELECT b.id, b.last_seq FROM connector.change_batches b
   WHERE b.last_seq <= (SELECT seq FROM cut) ORDER BY b.last_seq LIMIT ${SLICE}
),
moved AS (
  UPDATE connector.feed f SET deleted_seq = greatest(f.deleted_seq, (SELECT max(last_seq) FROM old))
   WHERE EXISTS (SELECT FROM old)
),
-- As arrays, so that no plan reads a whole table.
batches AS (DELETE FROM connector.change_batches b WHERE b.id = ANY (ARRAY(SELECT id FROM old))),
gone AS (DELETE FROM connector.changes c WHERE c.batch = ANY (ARRAY(SELECT id FROM old)) RETURNING 1)
SELECT (SELECT count(*) FROM old)::integer AS batches, (SELECT count(*) FROM gone)::integer AS changes`;

/**
 * Deletes the changes made before `before` (epoch ms), but none from the number `needed` on (null: no consumer needs
 * any), in short statements until `stopping` aborts. Resolves with how many were deleted. Throws as `query` does.
 */
export async function deleteOldChanges(
  db: Queryable,
  { before, needed, stopping }: { before: number; needed: number | null; stopping: AbortSignal },
): Promise<number> {
  for (let deleted = 0; ; ) {
    const [row] = await db.query<{ batches: number; changes: number }>(DELETE, [before, needed]);
    deleted += row?.changes ?? 0;
    if ((row?.batches ?? 0) < SLICE || stopping.aborted) return deleted;
  }
}
