WITH before AS MATERIALIZED (
  SELECT CASE WHEN l.due_at - $4::bigint > 180000 THEN $4::bigint ELSE l.due_at END AS due_at, l.run_fence
    FROM connector.dispatch_queues l WHERE l.connection_id = $1
     AND EXISTS (SELECT FROM connector.leases WHERE name = $3 AND fence = $2::bigint FOR SHARE) FOR UPDATE OF l
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
      SELECT h.type AS "type",
          h.at AS "at",
          h.account_id AS "accountId",
          h.connection_id AS "connectionId",
          h.message_id AS "messageId",
          h.status AS "status",
          h.previous_status AS "previousStatus",
          h.direction AS "direction",
          h.peer AS "peer",
          h.text AS "text",
          h.media_url AS "mediaUrl",
          h.media_type AS "mediaType",
          h.error_message AS "errorMessage",
          h.created_at AS "createdAt",
          h.first_seen_by AS "firstSeenBy",
          h.data AS "data" FROM connector.changes h
       WHERE h.batch = n.batch AND h.position = n.position OFFSET 0) c
     ORDER BY n.seq) q ON true
