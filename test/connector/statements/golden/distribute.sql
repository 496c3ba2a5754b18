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
         WHERE l.waiting = n.added) AS filled
