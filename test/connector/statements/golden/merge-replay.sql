-- 69 lines as in merge-messages.sql, from: WITH input_deliveries AS (
  SELECT c.connection_id, c.account_id, c.history_until FROM connector.connections c
-- 16 lines as in merge-messages.sql, from: WHERE c.connection_id IN (SELECT i.connection_id FROM input_connections i)
  RETURNING c.connection_id, c.account_id, c.history_until, c.xmax = 0 AS is_new, '{"visible": true}'::jsonb AS data
),
owners AS (
  SELECT connection_id, account_id, history_until FROM known
  UNION ALL
  SELECT connection_id, account_id, history_until FROM made
),
filed AS (
  SELECT i.*, o.history_until, CASE f.messages_from WHEN 0 THEN 0 ELSE coalesce((
-- 45 lines as in merge-messages.sql, from: SELECT k.filed_at FROM connector.messages k WHERE k.id = i.id AND k.connection_id = i.connection_id LIMIT 1
              WHEN $34::text = 'poll' AND NOT EXISTS (
    SELECT FROM connector.outbound s
     WHERE s.connection_id = i.connection_id AND (s.in_doubt OR s.state = 'sending')
       AND i.created_at >= s.first_attempt_at - 600000
       AND (s.state IN ('queued', 'sending') OR i.created_at <= s.last_attempt_at + 600000)
       AND (s.text IS NULL OR i.text IS NULL OR s.text = i.text)) THEN 'elsewhere'
              ELSE 'unknown' END, CASE WHEN i.media_url IS NOT NULL AND EXISTS (SELECT FROM connector.media_keeping)
              THEN '{"state": "pending"}'::jsonb END,
                  $34::text = 'poll' AND coalesce(i.created_at < i.history_until,
                  false),
         $34::text, $33::bigint, NULL,
         13
           | CASE WHEN i.status IS NULL THEN 0 ELSE 2 END
           | CASE WHEN i.status_conflict THEN 16 ELSE 0 END, NULL::bigint, i.filed_at
-- 164 lines as in merge-messages.sql, from: FROM filed i
      $35::text,
-- 23 lines as in merge-messages.sql, from: m.status,
      $35::text,
-- 49 lines as in merge-messages.sql, from: m.status,
