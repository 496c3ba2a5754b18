import type { Database, Queryable } from '../../runtime/database/database.ts';
import { emptyMessage } from './erase-messages.ts';
import { listMessagePeriods, type MessagePeriod } from './message-periods.ts';
import { COPY_WAITS } from './message-tables.ts';
import { dropPartition } from './time-partitions.ts';

/** Messages that one statement empties at most. */
const SLICE = 500;
/** Messages of a period that one statement closes. */
const PART = 5_000;

const expired = (now: string): string => `${emptyMessage(`'{}'::text[]`, now)},
         expired = true`;

// Each connection and direction is read by `messages_newest`, which emptied rows leave. Then rows are found by their ids,
// as an array, so that no plan reads a whole table, and locked in the order of their keys, as the merge does.
const EXPIRE = `
WITH old AS MATERIALIZED (
  SELECT o.* FROM connector.connections c
   CROSS JOIN (VALUES ('incoming'), ('outgoing')) d(direction)
   CROSS JOIN LATERAL (
     SELECT m.id, m.connection_id, m.filed_at FROM connector.messages m
      WHERE m.connection_id = c.connection_id AND m.direction = d.direction AND NOT m.erased
        AND m.created_at < $1::bigint AND m.filed_at <> ALL ($2::bigint[])
      ORDER BY m.created_at LIMIT ${SLICE}) o
   LIMIT ${SLICE}
), locked AS MATERIALIZED (
  SELECT m.id, m.connection_id, m.filed_at FROM old o JOIN connector.messages m USING (id, connection_id, filed_at)
   WHERE m.id = ANY (ARRAY(SELECT id FROM old)) AND NOT m.erased
   ORDER BY m.connection_id, m.id FOR UPDATE OF m
), expired AS (${expired('$3::bigint')}
    FROM locked l
   WHERE m.id = ANY (ARRAY(SELECT id FROM locked))
     AND m.id = l.id AND m.connection_id = l.connection_id AND m.filed_at = l.filed_at
  RETURNING 1
)
SELECT (SELECT count(*) FROM old)::integer AS found, (SELECT count(*) FROM expired)::integer AS count`;

// From here on, nothing brings a file to these messages of a period, and nothing that is reported of them is told. In the
// order of the index, so that a part costs the same however large the period is.
const close = (name: string): string => `
WITH part AS MATERIALIZED (
  SELECT m.id, m.connection_id, m.media_copy IS NOT NULL AND NOT m.erased AS has_file FROM connector.${name} m
   WHERE (m.id, m.connection_id) > ($2, $3) ORDER BY m.id, m.connection_id LIMIT ${PART}
), emptied AS (${expired('$4::bigint')}
    FROM part p
   WHERE p.has_file AND m.id = ANY (ARRAY(SELECT id FROM part WHERE has_file))
     AND m.id = p.id AND m.connection_id = p.connection_id AND m.filed_at = $1::bigint AND NOT m.erased
), closed AS (
  INSERT INTO connector.expired_messages (id, connection_id) SELECT id, connection_id FROM part ON CONFLICT DO NOTHING
)
SELECT id, connection_id AS "connectionId" FROM part ORDER BY id DESC, connection_id DESC LIMIT 1`;
const FILES = `
SELECT min(coalesce((m.media_copy ->> 'since')::bigint, 0)) AS since FROM connector.messages m
 WHERE m.filed_at = $1::bigint AND m.${COPY_WAITS}`;
/** By then the files of a period are removed, unless the store is away. */
const FILES_WITHIN_MS = 6 * 60 * 60_000;

/** Which messages expire. */
export interface OldMessages {
  /** They were created before this time, epoch ms. */
  readonly before: number;
  readonly now: number;
  /** What can be dropped with its period at most so much later stays until then. */
  readonly patienceMs?: number;
  readonly stopping: AbortSignal;
}

/**
 * Drops the periods of messages that ended before `before`, and removes texts, numbers and files of other older messages,
 * in short statements until `stopping` aborts. A period waits for the worker that removes its files, after six hours
 * without its texts. What is reported of an expired message changes nothing, and is not told. Throws as `query` does.
 */
export async function expireMessages(
  database: Database,
  old: OldMessages,
): Promise<{ readonly periods: number; readonly emptied: number }> {
  const { before, patienceMs = 0, stopping } = old;
  let periods = 0;
  const spared: number[] = [];
  for (const period of await listMessagePeriods(database)) {
    if (stopping.aborted || period.to === null) break;
    if (period.to > before) {
      if (period.to - before <= patienceMs) spared.push(period.from);
      break;
    }
    const outcome = await dropPeriod(database, period, old);
    if (outcome === 'dropped') periods += 1;
    if (outcome === 'later') spared.push(period.from);
  }
  return { periods, emptied: await emptyMessages(database, old, spared) };
}

/** Empties the messages created before `before`, except those of the periods `spared`. Resolves with their number. */
export async function emptyMessages(
  db: Queryable,
  { before, now, stopping }: OldMessages,
  spared: readonly number[],
): Promise<number> {
  for (let emptied = 0; ; ) {
    const [row] = await db.query<{ found: number; count: number }>(EXPIRE, [before, spared, now]);
    emptied += row?.count ?? 0;
    if ((row?.found ?? 0) < SLICE || stopping.aborted) return emptied;
  }
}

/** `later`: its files are removed soon, or somebody reads it for a long time. `waits`: the store is away, or it stopped. */
async function dropPeriod(
  database: Database,
  { name, from }: MessagePeriod,
  { now, stopping }: OldMessages,
): Promise<'dropped' | 'later' | 'waits'> {
  interface Last {
    readonly id: string;
    readonly connectionId: string;
  }
  for (let last: Last | undefined = { id: '', connectionId: '' }; last !== undefined; ) {
    if (stopping.aborted) return 'waits';
    [last] = await database.query<Last>(close(name), [from, last.id, last.connectionId, now]);
  }
  const [files] = await database.query<{ since: number | null }>(FILES, [from]);
  const { since = null } = files ?? {};
  if (since !== null) return now - since < FILES_WITHIN_MS ? 'later' : 'waits';
  return (await dropPartition(database, name)) ? 'dropped' : 'later';
}
