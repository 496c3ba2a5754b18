WITH recorded AS (
    INSERT INTO platform.ledger (workspace_id, connection_id, message_id, event, status, at, body)
    SELECT workspace_id, connection_id, message_id, event, status, at, body
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[])
      WITH ORDINALITY AS given (workspace_id, connection_id, message_id, event, status, at, body, position)
    ORDER BY position
    RETURNING id, workspace_id, connection_id, event, at
  )
  INSERT INTO platform.deliveries (event_id, subscription_id, created_at, due_at)
  SELECT recorded.id, receiver.id, $8::bigint, $8::bigint
  FROM recorded, unnest(array_prepend(workspace_id, ARRAY(
  SELECT DISTINCT g.app_id FROM platform.oauth_grants g
  JOIN platform.oauth_apps a ON a.id = g.app_id
  JOIN platform.webhook_configurations w ON w.subscription_id = a.id
  WHERE g.workspace_id = recorded.workspace_id AND recorded.connection_id = ANY(g.connection_ids) AND a.enabled
    AND g.revoked_at IS NULL AND g.expires_at > recorded.at AND 'messaging.events' = ANY(g.scopes)
    AND (recorded.event = 'message.received' OR NOT g.legacy)))) WITH ORDINALITY AS receiver (id, position)
  ORDER BY recorded.id, receiver.position
  RETURNING subscription_id
