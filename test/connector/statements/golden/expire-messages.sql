WITH old AS MATERIALIZED (
  SELECT o.* FROM connector.connections c
   CROSS JOIN (VALUES ('incoming'), ('outgoing')) d(direction)
   CROSS JOIN LATERAL (
     SELECT m.id, m.connection_id, m.filed_at FROM connector.messages m
      WHERE m.connection_id = c.connection_id AND m.direction = d.direction AND NOT m.erased
        AND m.created_at < $1::bigint AND m.filed_at <> ALL ($2::bigint[])
      ORDER BY m.created_at LIMIT 500) o
   LIMIT 500
), locked AS MATERIALIZED (
  SELECT m.id, m.connection_id, m.filed_at FROM old o JOIN connector.messages m USING (id, connection_id, filed_at)
   WHERE m.id = ANY (ARRAY(SELECT id FROM old)) AND NOT m.erased
   ORDER BY m.connection_id, m.id FOR UPDATE OF m
), expired AS (
  UPDATE connector.messages m
     SET peer = NULL,
         text = NULL,
         media_url = NULL,
         media_type = NULL,
         error_message = NULL,
         reference = NULL,
         wa_message_id = NULL,
         origin = NULL,
         erased = true,
         media_due_at = $3::bigint,
         media_copy = CASE WHEN m.media_copy ->> 'key' IS NOT NULL AND m.media_copy ->> 'key' <> ALL ('{}'::text[])
                           THEN jsonb_build_object('state',
                               'removing',
                               'key',
                               m.media_copy ->> 'key',
                               'since',
                               $3::bigint) END,
         expired = true
    FROM locked l
   WHERE m.id = ANY (ARRAY(SELECT id FROM locked))
     AND m.id = l.id AND m.connection_id = l.connection_id AND m.filed_at = l.filed_at
  RETURNING 1
)
SELECT (SELECT count(*) FROM old)::integer AS found, (SELECT count(*) FROM expired)::integer AS count
