import type { Queryable } from '../../runtime/database/database.ts';
import { emptyMessage } from './erase-messages.ts';

/** Messages that one statement empties at most. */
const SLICE = 500;

// Each connection and direction is read by `messages_newest`, which emptied rows leave. Then rows are found by their
// place, so that no plan reads the whole table, and locked in the order of their keys, as the merge does. A row stays
// without its texts, so that a poll or a status that comes later finds it, and nothing is told a second time.
const EXPIRE = `
WITH old AS MATERIALIZED (
  SELECT o.place FROM connector.connections c
   CROSS JOIN (VALUES ('incoming'), ('outgoing')) d(direction)
   CROSS JOIN LATERAL (
     SELECT m.ctid AS place FROM connector.messages m
      WHERE m.connection_id = c.connection_id AND m.direction = d.direction AND NOT m.erased
        AND m.created_at < $1::bigint
      ORDER BY m.created_at LIMIT ${SLICE}) o
   LIMIT ${SLICE}
), locked AS MATERIALIZED (
  SELECT m.ctid AS place FROM connector.messages m
   WHERE m.ctid = ANY (ARRAY(SELECT place FROM old)) AND NOT m.erased
   ORDER BY m.connection_id, m.id FOR UPDATE
), expired AS (${emptyMessage(`'{}'::text[]`)},
         expired = true
   WHERE m.ctid = ANY (ARRAY(SELECT place FROM locked))
  RETURNING 1
)
SELECT (SELECT count(*) FROM old)::integer AS found, (SELECT count(*) FROM expired)::integer AS count`;

/**
 * Removes texts, numbers and files of the messages created before `before` (epoch ms), in short statements until
 * `stopping` aborts. Resolves with how many messages these were. Throws as `query` does.
 */
export async function expireMessages(
  db: Queryable,
  { before, stopping }: { before: number; stopping: AbortSignal },
): Promise<number> {
  for (let expired = 0; ; ) {
    const [row] = await db.query<{ found: number; count: number }>(EXPIRE, [before]);
    expired += row?.count ?? 0;
    if ((row?.found ?? 0) < SLICE || stopping.aborted) return expired;
  }
}
