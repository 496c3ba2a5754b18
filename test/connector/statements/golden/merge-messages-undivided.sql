-- 94 lines as in merge-messages.sql, from: WITH input_deliveries AS (
  SELECT i.*
    FROM input_messages i
    JOIN owners o ON o.connection_id = i.connection_id AND o.account_id = i.account_id
),
merged AS (
  INSERT INTO connector.messages_undivided AS m
-- 16 lines as in merge-messages.sql, from: (connection_id,
     origin, media_copy, historic, first_seen_by, first_seen_at, previous_status, change_mask, webhook_at)
-- 23 lines as in merge-messages.sql, from: SELECT i.connection_id,
           | CASE WHEN i.status_conflict THEN 16 ELSE 0 END, CASE WHEN i.webhook_seen <> 0 THEN $33::bigint END
-- 238 lines as in merge-messages.sql, from: FROM filed i
