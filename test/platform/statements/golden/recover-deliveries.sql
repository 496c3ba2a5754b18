WITH last AS (
    SELECT coalesce(max(id), 0) AS id FROM platform.deliveries
  ), dropped AS (
    INSERT INTO platform.deliveries (id, event_id, subscription_id, outcome, reason, created_at, attempts)
    SELECT last.id + row_number() OVER (ORDER BY l.id, s.id), l.id, s.id, 'dropped', 'interrupted', $1::bigint, '[]'
    FROM platform.ledger l CROSS JOIN last, unnest(array_prepend(l.workspace_id, l.app_ids)) AS s (id)
    WHERE NOT EXISTS (
      SELECT 1 FROM platform.deliveries d
      WHERE d.event_id = l.id AND d.subscription_id = s.id AND d.variant IS NULL
    )
    RETURNING id
  )
  SELECT count(dropped.id) AS dropped, greatest(max(dropped.id), max(last.id)) AS last_id
  FROM last LEFT JOIN dropped ON true
