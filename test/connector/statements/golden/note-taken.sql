WITH stepped AS (
  UPDATE connector.dispatch_queues l
     SET waiting = l.waiting - 1, set_aside = l.set_aside + $4::integer,
         due_at = CASE WHEN l.waiting > 1 THEN l.due_at END,
         run_fence = CASE WHEN l.waiting > 1 THEN l.run_fence END
   WHERE l.connection_id = $1 AND l.run_fence = $2::bigint
  RETURNING waiting
),
gone AS MATERIALIZED (
  SELECT q.* FROM stepped s CROSS JOIN LATERAL connector.leave_dispatch_queue($1, $3::bigint) q
) SELECT s.waiting FROM stepped s LEFT JOIN gone ON true
