WITH known AS (SELECT * FROM unnest($2::text[], $3::bigint[]) AS k (connection_id, above)),
queues AS (
  SELECT connection_id, above FROM known
   UNION ALL
  SELECT DISTINCT n.connection_id, $1::bigint FROM connector.outbound n
   WHERE n.state IN ('queued', 'sending') AND n.position > $1::bigint
     AND NOT EXISTS (SELECT FROM known k WHERE k.connection_id = n.connection_id)
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
 CROSS JOIN LATERAL (SELECT coalesce(CASE WHEN o.next_attempt_at - $4::bigint > greatest(1200000,
     o.next_attempt_at - o.updated_at) THEN $4::bigint ELSE o.next_attempt_at END <= $4::bigint,
     true) AS due) d
 ORDER BY o.next_attempt_at NULLS FIRST
