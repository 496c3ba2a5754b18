WITH RECURSIVE queues AS (
  SELECT min(n.connection_id) AS connection_id, 0::bigint AS above
    FROM connector.outbound n WHERE n.state IN ('queued', 'sending')
   UNION ALL
  SELECT (SELECT min(n.connection_id) FROM connector.outbound n
           WHERE n.state IN ('queued', 'sending') AND n.connection_id > l.connection_id), 0
    FROM queues l WHERE l.connection_id IS NOT NULL
)
SELECT q.connection_id AS "connectionId",
    o.position AS "firstPosition",
    d.due AND NOT EXISTS (SELECT FROM connector.oauth_grants g
                    WHERE g.account_id = o.account_id AND g.ended_at IS NOT NULL)
   AND NOT EXISTS (SELECT FROM connector.accounts a
                     JOIN connector.poll_states p ON p.account_id = a.id
                    WHERE a.id = o.account_id AND p.refused_credential_version = a.credential_version) AS due,
       (SELECT held.owner FROM connector.leases held JOIN connector.processes living ON living.id = held.owner
    WHERE held.name = 'send:' || q.connection_id) AS owner
  FROM queues q
 CROSS JOIN LATERAL (
    SELECT n.* FROM connector.outbound n
     WHERE n.connection_id = q.connection_id AND n.state IN ('queued', 'sending') AND n.position > q.above
     ORDER BY n.position LIMIT 1) o
 CROSS JOIN LATERAL (SELECT coalesce(CASE WHEN o.next_attempt_at - $1::bigint > greatest(1200000,
     o.next_attempt_at - o.updated_at) THEN $1::bigint ELSE o.next_attempt_at END <= $1::bigint,
     true) AS due) d
 ORDER BY o.next_attempt_at NULLS FIRST
