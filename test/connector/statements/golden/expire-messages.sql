WITH old AS MATERIALIZED (
  SELECT o.place FROM connector.connections c
   CROSS JOIN (VALUES ('incoming'), ('outgoing')) d(direction)
   CROSS JOIN LATERAL (
     SELECT m.ctid AS place FROM connector.messages m
      WHERE m.connection_id = c.connection_id AND m.direction = d.direction AND NOT m.erased
        AND m.created_at < $1::bigint
      ORDER BY m.created_at LIMIT 500) o
   LIMIT 500
), locked AS MATERIALIZED (
  SELECT m.ctid AS place FROM connector.messages m
   WHERE m.ctid = ANY (ARRAY(SELECT place FROM old)) AND NOT m.erased
   ORDER BY m.connection_id, m.id FOR UPDATE
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
         media_due_at = NULL,
         media_copy = CASE WHEN m.media_copy ->> 'key' IS NOT NULL AND m.media_copy ->> 'key' <> ALL ('{}'::text[])
                           THEN jsonb_build_object('state', 'removing', 'key', m.media_copy ->> 'key') END,
         expired = true
   WHERE m.ctid = ANY (ARRAY(SELECT place FROM locked))
  RETURNING 1
)
SELECT (SELECT count(*) FROM old)::integer AS found, (SELECT count(*) FROM expired)::integer AS count
