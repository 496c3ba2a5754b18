INSERT INTO platform.ledger (workspace_id, connection_id, message_id, event, status, at, body, app_ids)
  SELECT workspace_id, connection_id, message_id, event, status, at, body, ARRAY(
  SELECT DISTINCT g.app_id FROM platform.oauth_grants g
  JOIN platform.oauth_apps a ON a.id = g.app_id
  JOIN platform.webhook_configurations w ON w.subscription_id = a.id
  WHERE g.workspace_id = given.workspace_id AND given.connection_id = ANY(g.connection_ids) AND a.enabled
    AND g.revoked_at IS NULL AND g.expires_at > given.at AND 'messaging.events' = ANY(g.scopes)
    AND (given.event = 'message.received' OR NOT g.legacy))
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[])
    WITH ORDINALITY AS given (workspace_id, connection_id, message_id, event, status, at, body, position)
  ORDER BY position
  RETURNING id, app_ids
