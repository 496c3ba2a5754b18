import type { Queryable } from '../../runtime/database/database.ts';

/** Maximum number of batches that one statement distributes. */
const MAX = 500;

/** Result of one step. */
export interface Distributed {
  /** True if there may be more to distribute. */
  readonly more: boolean;
  /** Connections whose queue is no longer empty. */
  readonly filled: readonly string[];
}

/*
 * The lock on the row of the cursor lets one process distribute at a time, each from where the previous one
 * ended. A statement that waited for the lock may not see what was numbered in the meantime. It skips nothing:
 * numbers are given in order, so what it sees is a prefix of the feed. A process that is up to date locks
 * nothing.
 */
const DISTRIBUTE = `
WITH stand AS MATERIALIZED (
  SELECT h.cursor FROM connector.dispatch h
   WHERE h.cursor < connector.last_seq() FOR UPDATE
),
page AS MATERIALIZED (
  SELECT b.id, b.size, b.last_seq FROM stand s CROSS JOIN LATERAL (
    SELECT * FROM connector.change_batches n WHERE n.last_seq > s.cursor ORDER BY n.last_seq LIMIT $2::integer) b
),
queued AS (
  INSERT INTO connector.dispatch_entries (connection_id, seq, batch, position)
  SELECT c.connection_id, p.last_seq - p.size + c.position, c.batch, c.position
    FROM page p CROSS JOIN LATERAL (
      SELECT * FROM connector.changes n WHERE n.batch = p.id OFFSET 0) c
  RETURNING connection_id
),
counted AS MATERIALIZED (
  SELECT q.connection_id, count(*)::integer AS added FROM queued q GROUP BY q.connection_id
),
queues AS (
  INSERT INTO connector.dispatch_queues AS l (connection_id, waiting, due_at)
  SELECT n.connection_id, n.added, $1::bigint FROM counted n ORDER BY n.connection_id
  ON CONFLICT (connection_id) DO UPDATE
    SET waiting = l.waiting + excluded.waiting, due_at = coalesce(l.due_at, excluded.due_at)
  RETURNING connection_id, waiting
),
moved AS (
  UPDATE connector.dispatch h SET cursor = p.reached
    FROM (SELECT max(last_seq) AS reached FROM page) p WHERE p.reached > h.cursor
)
SELECT (SELECT count(*) FROM page)::integer AS batches,
       (SELECT coalesce(array_agg(l.connection_id), '{}') FROM queues l JOIN counted n USING (connection_id)
         WHERE l.waiting = n.added) AS filled`;

/**
 * Adds the next numbered changes of the feed to the queues of their connections and moves the cursor, in one
 * statement. Does nothing before dispatch was started for the first time. Throws as `query` does.
 */
export async function distribute(db: Queryable, now: number): Promise<Distributed> {
  const [row] = await db.query<{ batches: number; filled: string[] }>(DISTRIBUTE, [now, MAX]);
  return { more: row?.batches === MAX, filled: row?.filled ?? [] };
}

/** The state of dispatch when a process starts to take part. */
export interface Beginning {
  readonly feedId: string;
  /** True if handlers have never run on this database: changes up to `cursor` stay in the feed only. */
  readonly isFirst: boolean;
  /** Changes up to this `seq` were dispatched, are in a queue, or precede the start of dispatch. */
  readonly cursor: number;
  /** Changes that were already waiting. */
  readonly waiting: number;
}

/**
 * Creates the cursor the first time that handlers run on this database: after the newest change, so that
 * handlers do not process old messages. Later it only reads the state.
 */
export async function beginDispatch(db: Queryable): Promise<Beginning> {
  const made = await db.query(
    `INSERT INTO connector.dispatch (cursor) SELECT connector.last_seq()
     ON CONFLICT ("only") DO NOTHING RETURNING cursor`,
  );
  const [row] = await db.query<{ feedId: string; cursor: number; waiting: number }>(
    `SELECT f.id AS "feedId", h.cursor,
            (connector.last_seq() - h.cursor) % 4294967296
              + (SELECT coalesce(sum(l.waiting), 0) FROM connector.dispatch_queues l)::bigint AS waiting
       FROM connector.dispatch h CROSS JOIN connector.feed f`,
  );
  if (row === undefined) throw new Error('the row of dispatch is missing');
  return { ...row, isFirst: made.length > 0 };
}
