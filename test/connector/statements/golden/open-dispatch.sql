WITH before AS MATERIALIZED (
  SELECT l.due_at, l.run_fence FROM connector.handover_lanes l WHERE l.connection_id = $1
     AND EXISTS (SELECT FROM connector.leases WHERE name = $3 AND fence = $2::bigint FOR SHARE) FOR UPDATE OF l
),
opened AS (
  UPDATE connector.handover_lanes l SET run_fence = $2::bigint FROM before b
   WHERE l.connection_id = $1 AND b.due_at <= $4::bigint
)
SELECT b.due_at, b.run_fence IS NOT NULL AND b.run_fence <> $2::bigint AS was_left, q.*
  FROM before b LEFT JOIN LATERAL (
    SELECT n.seq, n.attempts, c.*
      FROM connector.handover_head($1, CASE WHEN b.due_at <= $4::bigint THEN $5::integer ELSE 0 END) n
     CROSS JOIN LATERAL (
      SELECT type, at, account_id, connection_id, message_id, status, previous_status,
  direction, peer, text, media_url, media_type, error_message, created_at, first_seen_by, data FROM connector.changes
       WHERE batch = n.batch AND position = n.position OFFSET 0) c
     ORDER BY n.seq) q ON true
