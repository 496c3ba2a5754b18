import type { DeadLetter } from '../../contract/connector/changes.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { changeColumns, presentChange, type StoredChange } from '../feed/present-change.ts';

/**
 * The key of a change: the id of the feed and the number of the change. Numbers start again in another
 * feed, and a CRM that stores keys must not mistake the first changes there for known ones.
 */
export function changeKey(feedId: string, seq: number): string {
  return `${feedId}-${seq}`;
}

/** The number in a key; null if it is not a key. */
function readSeq(key: string): { readonly feedId: string; readonly seq: number } | null {
  const [, feedId = '', seq = ''] = /^([0-9a-f]{12})-(\d{1,16})$/.exec(key) ?? [];
  return feedId === '' ? null : { feedId, seq: Number(seq) };
}

interface StoredLetter {
  readonly feedId: string;
  readonly attempts: number;
  readonly lastError: string;
  readonly setAsideAt: number;
}

const LIST = `
SELECT f.id AS "feedId", d.attempts, d.last_error AS "lastError", d.at AS "setAsideAt", c.*
  FROM connector.feed f
 CROSS JOIN LATERAL (SELECT * FROM connector.dead_letters n WHERE $1::bigint IS NULL OR n.seq < $1::bigint
                      ORDER BY n.seq DESC LIMIT $2::integer) d
 CROSS JOIN LATERAL (SELECT d.seq, ${changeColumns('h')} FROM connector.changes h
                      WHERE h.batch = d.batch AND h.position = d.position) c
 ORDER BY d.seq DESC`;

/** Up to `limit` dead letters with a `seq` below `before` (null: from the newest), newest first. */
export async function readDeadLetters(
  db: Queryable,
  before: number | null,
  limit: number,
): Promise<readonly DeadLetter[]> {
  const rows = await db.query<StoredLetter & StoredChange>(LIST, [before, limit]);
  return rows.map((row) => ({
    id: changeKey(row.feedId, row.seq),
    change: presentChange(row),
    attempts: row.attempts,
    lastError: row.lastError,
    at: toIso(row.setAsideAt),
  }));
}

/** Deletes the dead letter of this feed and number. */
const GONE = `
WITH gone AS (
  DELETE FROM connector.dead_letters d WHERE d.seq = $1::bigint
     AND EXISTS (SELECT FROM connector.feed f WHERE f.id = $2)
  RETURNING d.*
)`;

/*
 * Because of its number, it precedes everything in the queue of its connection. It keeps its number of calls,
 * so another failure sets it aside at once and does not block the queue.
 */
const REPLAY = `${GONE},
queued AS (
  INSERT INTO connector.dispatch_entries (connection_id, seq, batch, position, attempts)
  SELECT connection_id, seq, batch, position, attempts FROM gone
)
UPDATE connector.dispatch_queues l SET waiting = l.waiting + 1, set_aside = l.set_aside - 1, due_at = 0
  FROM gone g WHERE l.connection_id = g.connection_id
RETURNING l.connection_id AS "connectionId"`;

/** Queues a dead letter again, and returns its connection; null if there is none with this id. */
export async function replayDeadLetter(db: Queryable, id: string): Promise<string | null> {
  return await takeAway(db, REPLAY, id);
}

const REMOVE = `${GONE}
UPDATE connector.dispatch_queues l SET set_aside = l.set_aside - 1
  FROM gone g WHERE l.connection_id = g.connection_id
RETURNING l.connection_id AS "connectionId"`;

/** Discards a dead letter; false if there is none with this id. The change stays in the feed. */
export async function removeDeadLetter(db: Queryable, id: string): Promise<boolean> {
  return (await takeAway(db, REMOVE, id)) !== null;
}

async function takeAway(db: Queryable, statement: string, id: string): Promise<string | null> {
  const named = readSeq(id);
  if (named === null) return null;
  const [queue] = await db.query<{ connectionId: string }>(statement, [named.seq, named.feedId]);
  return queue?.connectionId ?? null;
}

/** As long as a failed send. The change stays in the feed. */
const KEPT_MS = 90 * 24 * 60 * 60_000;

/** Deletes dead letters that were neither replayed nor discarded within 90 days. Throws as `query` does. */
export async function deleteOldDeadLetters(db: Queryable, now: number): Promise<void> {
  await db.query(
    `WITH gone AS (DELETE FROM connector.dead_letters WHERE at < $1::bigint RETURNING connection_id),
     counted AS (SELECT connection_id, count(*) AS letters FROM gone GROUP BY connection_id)
     UPDATE connector.dispatch_queues l SET set_aside = l.set_aside - c.letters
       FROM counted c WHERE l.connection_id = c.connection_id`,
    [now - KEPT_MS],
  );
}
