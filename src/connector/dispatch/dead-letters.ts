import type { DeadLetter } from '../../contract/connector/changes.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { changeColumns, presentChange, type StoredChange } from '../feed/present-change.ts';

/**
 * The key of a change: its number in the feed, behind the id of the feed. Numbers begin anew in another database;
 * a CRM that remembers keys must not take the first changes there for ones that it knows.
 */
export function changeKey(feedId: string, seq: number): string {
  return `${feedId}-${seq}`;
}

/** The number in a key; null for what is no key. */
function readSeq(key: string): { readonly feedId: string; readonly seq: number } | null {
  const [, feedId = '', seq = ''] = /^([0-9a-f]{12})-(\d{1,15})$/.exec(key) ?? [];
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

/** Up to `limit` dead letters with a `seq` below `before` (null: from the newest on), newest first. */
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

/** Takes the dead letter of this feed and number away. */
const GONE = `
WITH gone AS (
  DELETE FROM connector.dead_letters d WHERE d.seq = $1::bigint
     AND EXISTS (SELECT FROM connector.feed f WHERE f.id = $2)
  RETURNING d.*
)`;

/*
 * Its number puts it before everything that still waits on its connection. It keeps its count of calls, so a
 * further failure sets it aside at once and holds nobody.
 */
const REPLAY = `${GONE},
queued AS (
  INSERT INTO connector.dispatch_entries (connection_id, seq, batch, position, attempts)
  SELECT connection_id, seq, batch, position, attempts FROM gone
)
UPDATE connector.dispatch_queues l SET waiting = l.waiting + 1, set_aside = l.set_aside - 1, due_at = 0
  FROM gone g WHERE l.connection_id = g.connection_id
RETURNING l.connection_id AS "connectionId"`;

/** Queues a dead letter once more, and tells its connection; null when there is none with this id. */
export async function replayDeadLetter(db: Queryable, id: string): Promise<string | null> {
  return await takeAway(db, REPLAY, id);
}

const REMOVE = `${GONE}
UPDATE connector.dispatch_queues l SET set_aside = l.set_aside - 1
  FROM gone g WHERE l.connection_id = g.connection_id
RETURNING l.connection_id AS "connectionId"`;

/** Gives a dead letter up; false when there is none with this id. The change stays in the feed. */
export async function removeDeadLetter(db: Queryable, id: string): Promise<boolean> {
  return (await takeAway(db, REMOVE, id)) !== null;
}

async function takeAway(db: Queryable, statement: string, id: string): Promise<string | null> {
  const named = readSeq(id);
  if (named === null) return null;
  const [queue] = await db.query<{ connectionId: string }>(statement, [named.seq, named.feedId]);
  return queue?.connectionId ?? null;
}

/** As long as a send that failed. Its change stays in the feed. */
const KEPT_MS = 90 * 24 * 60 * 60_000;

/** Forgets dead letters that nobody replayed or gave up in 90 days. Throws as `query` does. */
export async function forgetOldLetters(db: Queryable, now: number): Promise<void> {
  await db.query(
    `WITH gone AS (DELETE FROM connector.dead_letters WHERE at < $1::bigint RETURNING connection_id),
     counted AS (SELECT connection_id, count(*) AS letters FROM gone GROUP BY connection_id)
     UPDATE connector.dispatch_queues l SET set_aside = l.set_aside - c.letters
       FROM counted c WHERE l.connection_id = c.connection_id`,
    [now - KEPT_MS],
  );
}
