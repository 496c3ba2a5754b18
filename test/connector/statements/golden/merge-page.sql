WITH guard AS (SELECT FROM connector.leases WHERE name = $36::text AND fence = $37::bigint::bigint FOR SHARE),
input_deliveries AS (
-- 28 lines as in merge-messages.sql, from: SELECT d.*, substring((SELECT convert_to($14::text, 'UTF8')) FROM d.starts_at FOR d.bytes) AS body
   WHERE EXISTS (SELECT FROM guard)
-- 34 lines as in merge-messages.sql, from: ),
   WHERE EXISTS (SELECT FROM guard)
-- 4 lines as in merge-messages.sql, from: ),
   WHERE EXISTS (SELECT FROM guard)
),
known AS (
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
-- 43 lines as in merge-messages.sql, from: m.status,
),
saved_coverage AS (
  INSERT INTO connector.coverage AS c (account_id, watermark)
  SELECT $38::text, $40::bigint WHERE $51::boolean AND EXISTS (SELECT FROM guard)
  ON CONFLICT (account_id) DO UPDATE SET watermark = excluded.watermark
   WHERE excluded.watermark IS DISTINCT FROM c.watermark
),
closed_gaps AS (
  DELETE FROM connector.gaps g
   WHERE g.account_id = $38::text AND g.kind = $41::text AND g.slot = ANY ($42::text[]) AND EXISTS (SELECT FROM guard)
),
saved_gaps AS (
  INSERT INTO connector.gaps (account_id, kind, slot, top, floor, cursor, next_top, restarts, opened_at)
  SELECT $38::text, $41::text, g.slot, g.top, g.floor, g.cursor, g.next_top, g.restarts, $39::bigint
    FROM unnest($43::text[], $44::bigint[], $45::bigint[], $46::text[], $47::bigint[], $48::integer[])
      AS g(slot, top, floor, cursor, next_top, restarts)
   WHERE EXISTS (SELECT FROM guard)
  ON CONFLICT (account_id, kind, slot) DO UPDATE
     SET top = excluded.top, floor = excluded.floor, cursor = excluded.cursor, next_top = excluded.next_top,
         restarts = excluded.restarts
),
saved_sweeps AS (
  INSERT INTO connector.sweeps (account_id, horizon, last_at, last_reference)
  SELECT $38::text, w.horizon, $39::bigint, w.reference
    FROM unnest($49::text[], $50::bigint[]) AS w(horizon, reference)
   WHERE EXISTS (SELECT FROM guard)
  ON CONFLICT (account_id, horizon) DO UPDATE
     SET last_at = excluded.last_at, last_reference = excluded.last_reference
),
noted_repairs AS (
  INSERT INTO connector.repairs (connection_id, message_id, what, account_id, observed_at)
  SELECT m.connection_id,
      m.id,
      CASE m.direction WHEN 'incoming' THEN 1 ELSE CASE m.status WHEN 'sent' THEN 2 WHEN 'delivered' THEN 4
  WHEN 'read' THEN 8 WHEN 'failed' THEN 16 END END,
         $52::text, $53::bigint
    FROM merged m
    JOIN connector.connections c
      ON c.connection_id = m.connection_id AND c.provider = 'qr' AND c.license_valid IS DISTINCT FROM false
   WHERE m.created_at >= $54::bigint AND EXISTS (SELECT FROM guard)
     AND CASE m.direction WHEN 'incoming' THEN m.change_mask & 1 <> 0
                          WHEN 'outgoing' THEN m.change_mask & 2 <> 0 END
  ON CONFLICT (connection_id, message_id, what) DO NOTHING
)
SELECT EXISTS (SELECT FROM guard) AS applied,
-- 4 lines as in merge-messages.sql, from: (SELECT string_agg(l.outcome, ' ') FROM logged l) AS outcomes,
