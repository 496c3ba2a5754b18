SELECT l.connection_id AS "connectionId" FROM connector.dispatch_queues l
      WHERE CASE WHEN l.due_at - $1::bigint > 180000 THEN $1::bigint ELSE l.due_at END <= $1::bigint AND NOT EXISTS (SELECT FROM connector.leases held JOIN connector.processes living ON living.id = held.owner
    WHERE held.name = 'dispatch:' || l.connection_id)
      ORDER BY l.due_at LIMIT $2::integer
