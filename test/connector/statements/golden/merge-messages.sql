WITH input_deliveries AS (
  SELECT d.*, substring((SELECT convert_to($14::text, 'UTF8')) FROM d.starts_at FOR d.bytes) AS body
    FROM unnest($1::text[],
        $2::text[],
        $3::bigint[],
        $4::bigint[],
        $5::text[],
        $6::text[],
        $7::text[],
        $8::text[],
        $9::text[],
        $10::integer[],
        $11::integer[],
        $12::integer[],
        $13::smallint[]) WITH ORDINALITY
      AS d(subscription_id,
          account_id,
          received_at,
          signed_at,
          event,
          connection_id,
          message_id,
          outcome,
          reason,
          secret_version,
          starts_at,
          bytes,
          credit,
          position)
),
input_messages AS (
  SELECT m.* FROM unnest($15::text[],
      $16::text[],
      $17::text[],
      $18::text[],
      $19::text[],
      $20::text[],
      $21::text[],
      $22::text[],
      $23::text[],
      $24::text[],
      $25::text[],
      $26::text[]::connector.message_status[],
      $27::bigint[],
      $28::boolean[],
      $29::smallint[],
      $30::boolean[])
    AS m(connection_id,
        id,
        account_id,
        direction,
        peer,
        text,
        media_url,
        media_type,
        error_message,
        reference,
        wa_message_id,
        status,
        created_at,
        polled,
        webhook_seen,
        status_conflict)
),
input_connections AS (
  SELECT i.* FROM unnest($31::text[], $32::text[]) WITH ORDINALITY
    AS i(connection_id, account_id, position)
),
known AS (
  SELECT c.connection_id, c.account_id FROM connector.connections c
   WHERE c.connection_id IN (SELECT i.connection_id FROM input_connections i)
     AND NOT (c.listed_at IS NULL AND NOT c.visible AND EXISTS (
       SELECT FROM input_connections i WHERE i.connection_id = c.connection_id AND EXISTS (SELECT FROM connector.accounts a WHERE a.id = i.account_id)))
),
made AS (
  INSERT INTO connector.connections AS c
    (connection_id, account_id, visible, version, updated_at)
  SELECT DISTINCT ON (connection_id) connection_id, account_id, true, 1, $33::bigint
    FROM input_connections i
   WHERE NOT EXISTS (SELECT FROM known k WHERE k.connection_id = i.connection_id)
     AND (EXISTS (SELECT FROM connector.accounts a WHERE a.id = i.account_id)
          OR NOT EXISTS (SELECT FROM connector.connections k WHERE k.connection_id = i.connection_id))
   ORDER BY connection_id, position
  ON CONFLICT (connection_id) DO UPDATE
     SET account_id = CASE WHEN c.listed_at IS NULL AND NOT c.visible THEN excluded.account_id ELSE c.account_id END,
         visible = c.visible OR c.listed_at IS NULL
  RETURNING c.connection_id, c.account_id, c.xmax = 0 AS is_new, '{"visible": true}'::jsonb AS data
),
owners AS (
  SELECT connection_id, account_id FROM known
  UNION ALL
  SELECT connection_id, account_id FROM made
),
filed AS (
  SELECT i.*, CASE f.messages_from WHEN 0 THEN 0 ELSE coalesce((
           SELECT k.filed_at FROM connector.messages k WHERE k.id = i.id AND k.connection_id = i.connection_id LIMIT 1
         ), f.messages_from) END AS filed_at
    FROM input_messages i
    JOIN owners o ON o.connection_id = i.connection_id AND o.account_id = i.account_id
   CROSS JOIN connector.feed f
   WHERE f.messages_from = 0
      OR (SELECT true FROM connector.expired_messages x WHERE x.id = i.id AND x.connection_id = i.connection_id) IS NULL
),
merged AS (
  INSERT INTO connector.messages AS m
    (connection_id,
        id,
        account_id,
        direction,
        peer,
        text,
        media_url,
        media_type,
        error_message,
        reference,
        wa_message_id,
        status,
        created_at,
        polled,
        webhook_seen,
        status_conflict,
     origin, media_copy, historic, first_seen_by, first_seen_at, previous_status, change_mask, webhook_at, filed_at)
  SELECT i.connection_id,
      i.id,
      i.account_id,
      i.direction,
      i.peer,
      i.text,
      i.media_url,
      i.media_type,
      i.error_message,
      i.reference,
      i.wa_message_id,
      i.status,
      i.created_at,
      i.polled,
      i.webhook_seen,
      i.status_conflict,
         CASE WHEN i.direction = 'incoming' THEN NULL
              WHEN $34::text = 'send' THEN 'connector'
              ELSE 'unknown' END, CASE WHEN i.media_url IS NOT NULL AND EXISTS (SELECT FROM connector.media_keeping)
              THEN '{"state": "pending"}'::jsonb END, false,
         $34::text, $33::bigint, NULL,
         13
           | CASE WHEN i.status IS NULL THEN 0 ELSE 2 END
           | CASE WHEN i.status_conflict THEN 16 ELSE 0 END,
               CASE WHEN i.webhook_seen <> 0 THEN $33::bigint END,
               i.filed_at
    FROM filed i
   ORDER BY i.connection_id, i.id
  ON CONFLICT (connection_id, id, filed_at) DO UPDATE
     SET account_id = CASE WHEN (m.account_id LIKE 'unclaimed:%' AND excluded.account_id <> m.account_id) THEN excluded.account_id ELSE m.account_id END,
         direction = CASE WHEN (m.first_seen_by = 'poll' AND NOT m.polled AND excluded.polled) THEN excluded.direction ELSE m.direction END,
         peer = CASE WHEN (excluded.peer IS NOT NULL AND (m.peer IS NULL OR m.peer_named)) THEN excluded.peer ELSE m.peer END,
         text = coalesce(m.text, excluded.text),
         media_url = CASE WHEN excluded.first_seen_by = 'poll' THEN coalesce(excluded.media_url,
             m.media_url) ELSE coalesce(m.media_url,
             excluded.media_url) END,
         media_type = coalesce(m.media_type, excluded.media_type),
         error_message = coalesce(m.error_message, excluded.error_message),
         reference = coalesce(m.reference, excluded.reference),
         wa_message_id = coalesce(m.wa_message_id, excluded.wa_message_id),
         status = CASE WHEN ((excluded.status > m.status AND m.status <> 'read')
        OR (m.status IS NULL AND excluded.status IS NOT NULL AND CASE WHEN (m.first_seen_by = 'poll' AND NOT m.polled AND excluded.polled) THEN excluded.direction ELSE m.direction END = 'outgoing')) THEN excluded.status ELSE m.status END,
         created_at = CASE WHEN m.polled THEN m.created_at
              WHEN excluded.polled THEN excluded.created_at
              WHEN excluded.first_seen_by = 'poll' THEN m.created_at
              ELSE least(m.created_at, excluded.created_at) END,
         polled = m.polled OR excluded.polled,
         webhook_seen = m.webhook_seen | excluded.webhook_seen,
         status_conflict = (m.status_conflict OR excluded.status_conflict
        OR coalesce((m.status = 'read' AND excluded.status = 'failed')
                 OR (m.status = 'failed' AND excluded.status = 'read'), false)),
         origin = CASE WHEN ((excluded.origin = 'connector' AND m.origin IS DISTINCT FROM 'connector')
        OR (excluded.origin = 'elsewhere' AND m.origin = 'unknown')) THEN excluded.origin ELSE m.origin END,
         peer_named = (m.peer_named AND excluded.peer IS NULL),
         media_copy = CASE WHEN m.media_url IS NULL THEN excluded.media_copy
              WHEN (excluded.first_seen_by = 'poll' AND m.media_copy ->> 'state' = 'gone' AND m.media_copy -> 'renewed' IS NULL
        AND excluded.media_copy IS NOT NULL AND m.media_url <> excluded.media_url) THEN excluded.media_copy || jsonb_build_object('since',
            excluded.first_seen_at,
            'renewed',
            true)
              ELSE m.media_copy END,
         previous_status = m.status,
         change_mask = CASE WHEN (((excluded.status > m.status AND m.status <> 'read')
        OR (m.status IS NULL AND excluded.status IS NOT NULL AND CASE WHEN (m.first_seen_by = 'poll' AND NOT m.polled AND excluded.polled) THEN excluded.direction ELSE m.direction END = 'outgoing'))) THEN 2 ELSE 0 END
                     | CASE WHEN ((m.account_id LIKE 'unclaimed:%' AND excluded.account_id <> m.account_id)
        OR ((m.first_seen_by = 'poll' AND NOT m.polled AND excluded.polled) AND m.direction <> excluded.direction)
        OR ((excluded.peer IS NOT NULL AND (m.peer IS NULL OR m.peer_named)) AND m.peer IS DISTINCT FROM excluded.peer)
        OR (m.text IS NULL AND excluded.text IS NOT NULL)
        OR (m.media_url IS NULL AND excluded.media_url IS NOT NULL)
        OR (m.media_type IS NULL AND excluded.media_type IS NOT NULL)
        OR (m.error_message IS NULL AND excluded.error_message IS NOT NULL)
        OR (m.reference IS NULL AND excluded.reference IS NOT NULL)
        OR (m.wa_message_id IS NULL AND excluded.wa_message_id IS NOT NULL)
        OR m.created_at <> CASE WHEN m.polled THEN m.created_at
              WHEN excluded.polled THEN excluded.created_at
              WHEN excluded.first_seen_by = 'poll' THEN m.created_at
              ELSE least(m.created_at, excluded.created_at) END
        OR ((excluded.origin = 'connector' AND m.origin IS DISTINCT FROM 'connector')
        OR (excluded.origin = 'elsewhere' AND m.origin = 'unknown'))
        OR (excluded.first_seen_by = 'poll' AND m.media_copy ->> 'state' = 'gone' AND m.media_copy -> 'renewed' IS NULL
        AND excluded.media_copy IS NOT NULL AND m.media_url <> excluded.media_url)) THEN 4 ELSE 0 END
                     | CASE WHEN ((excluded.first_seen_by = 'poll' AND m.media_url <> excluded.media_url)
        OR (excluded.polled AND NOT m.polled)
        OR m.webhook_seen | excluded.webhook_seen <> m.webhook_seen
        OR (m.peer_named AND excluded.peer IS NOT NULL)) THEN 8 ELSE 0 END
                     | CASE WHEN (((m.status_conflict OR excluded.status_conflict
        OR coalesce((m.status = 'read' AND excluded.status = 'failed')
                 OR (m.status = 'failed' AND excluded.status = 'read'),
                     false)) AND NOT m.status_conflict)) THEN 16 ELSE 0 END,
         webhook_at = coalesce(excluded.webhook_at, m.webhook_at)
   WHERE NOT m.erased AND ((((excluded.status > m.status AND m.status <> 'read')
        OR (m.status IS NULL AND excluded.status IS NOT NULL AND CASE WHEN (m.first_seen_by = 'poll' AND NOT m.polled AND excluded.polled) THEN excluded.direction ELSE m.direction END = 'outgoing')))
      OR ((m.account_id LIKE 'unclaimed:%' AND excluded.account_id <> m.account_id)
        OR ((m.first_seen_by = 'poll' AND NOT m.polled AND excluded.polled) AND m.direction <> excluded.direction)
        OR ((excluded.peer IS NOT NULL AND (m.peer IS NULL OR m.peer_named)) AND m.peer IS DISTINCT FROM excluded.peer)
        OR (m.text IS NULL AND excluded.text IS NOT NULL)
        OR (m.media_url IS NULL AND excluded.media_url IS NOT NULL)
        OR (m.media_type IS NULL AND excluded.media_type IS NOT NULL)
        OR (m.error_message IS NULL AND excluded.error_message IS NOT NULL)
        OR (m.reference IS NULL AND excluded.reference IS NOT NULL)
        OR (m.wa_message_id IS NULL AND excluded.wa_message_id IS NOT NULL)
        OR m.created_at <> CASE WHEN m.polled THEN m.created_at
              WHEN excluded.polled THEN excluded.created_at
              WHEN excluded.first_seen_by = 'poll' THEN m.created_at
              ELSE least(m.created_at, excluded.created_at) END
        OR ((excluded.origin = 'connector' AND m.origin IS DISTINCT FROM 'connector')
        OR (excluded.origin = 'elsewhere' AND m.origin = 'unknown'))
        OR (excluded.first_seen_by = 'poll' AND m.media_copy ->> 'state' = 'gone' AND m.media_copy -> 'renewed' IS NULL
        AND excluded.media_copy IS NOT NULL AND m.media_url <> excluded.media_url))
      OR ((excluded.first_seen_by = 'poll' AND m.media_url <> excluded.media_url)
        OR (excluded.polled AND NOT m.polled)
        OR m.webhook_seen | excluded.webhook_seen <> m.webhook_seen
        OR (m.peer_named AND excluded.peer IS NOT NULL))
      OR (((m.status_conflict OR excluded.status_conflict
        OR coalesce((m.status = 'read' AND excluded.status = 'failed')
                 OR (m.status = 'failed' AND excluded.status = 'read'), false)) AND NOT m.status_conflict)))
  RETURNING m.connection_id, m.id, m.account_id, m.change_mask, m.status, m.previous_status,
            m.direction,
                m.peer,
                m.text,
                m.media_url,
                m.media_type,
                m.error_message,
                m.reference,
                m.media_copy,
                m.origin,
                m.historic,
                m.created_at,
                m.first_seen_by
),
batch AS MATERIALIZED (
  SELECT nextval('connector.change_batch_id') AS id FROM (SELECT count(*) FROM merged) AS all_merged,
      (SELECT count(*) FROM made) AS all_made
),
changed AS (
  INSERT INTO connector.changes (batch,
      position,
      type,
      at,
      account_id,
      connection_id,
      message_id,
      source,
      via,
      status,
      previous_status,
      direction,
      peer,
      text,
      media_url,
      media_type,
      error_message,
      reference,
      media_copy,
      origin,
      created_at,
      first_seen_by,
      historic,
      data)
  SELECT (SELECT b.id FROM batch b), row_number() OVER (), t.* FROM (
  SELECT 'connection.updated',
      $33::bigint,
      c.account_id,
      c.connection_id,
      NULL::text,
      $34::text,
      NULL::text,
      NULL::connector.message_status,
      NULL::connector.message_status,
      NULL::text,
      NULL::text,
      NULL::text,
      NULL::text,
      NULL::text,
      NULL::text,
      NULL::text,
      NULL::jsonb,
      NULL::text,
      NULL::bigint,
      NULL::text,
      NULL::boolean,
      c.data
    FROM made c WHERE c.is_new
  UNION ALL
  SELECT 'message.created',
      $33::bigint,
      m.account_id,
      m.connection_id,
      m.id,
      $34::text,
      NULL,
      m.status,
      m.previous_status,
      m.direction,
      m.peer,
      m.text,
      m.media_url,
      m.media_type,
      m.error_message,
      m.reference,
      m.media_copy,
      m.origin,
      m.created_at,
      m.first_seen_by,
      m.historic,
      NULL::jsonb
    FROM merged m WHERE m.change_mask & 1 <> 0
  UNION ALL
  SELECT kind.type,
      $33::bigint,
      m.account_id,
      m.connection_id,
      m.id,
      $34::text,
      NULL,
      m.status,
      m.previous_status,
      CASE kind.bit WHEN 2 THEN NULL ELSE m.direction END,
      CASE kind.bit WHEN 2 THEN NULL ELSE m.peer END,
      CASE kind.bit WHEN 2 THEN NULL ELSE m.text END,
      CASE kind.bit WHEN 2 THEN NULL ELSE m.media_url END,
      CASE kind.bit WHEN 2 THEN NULL ELSE m.media_type END,
      CASE kind.bit WHEN 2 THEN NULL ELSE m.error_message END,
      CASE kind.bit WHEN 2 THEN NULL ELSE m.reference END,
      CASE kind.bit WHEN 2 THEN NULL ELSE m.media_copy END,
      CASE kind.bit WHEN 2 THEN NULL ELSE m.origin END,
      CASE kind.bit WHEN 2 THEN NULL ELSE m.created_at END,
      CASE kind.bit WHEN 2 THEN NULL ELSE m.first_seen_by END,
      m.historic,
      NULL::jsonb
    FROM merged m
    JOIN (VALUES ('message.status', 2), ('message.updated', 4)) kind(type, bit)
      ON m.change_mask & kind.bit <> 0
   WHERE m.change_mask & 1 = 0) t
  RETURNING at
),
inserted_batch AS (
  INSERT INTO connector.change_batches (id, size, changed_at)
  SELECT (SELECT b.id FROM batch b), count(*), max(at) FROM changed HAVING count(*) > 0
  RETURNING size
),
logged AS (
  INSERT INTO connector.inbox
    (received_at, subscription_id, account_id, signed_at, body, event, connection_id, message_id, outcome, reason,
     change_mask, change_batch, secret_version)
  SELECT d.received_at, d.subscription_id, d.account_id, d.signed_at, d.body, d.event, d.connection_id,
         d.message_id,
         CASE WHEN d.outcome IS NOT NULL THEN d.outcome
              WHEN o.account_id IS DISTINCT FROM d.account_id THEN 'foreign'
              WHEN coalesce(m.change_mask, 0) & d.credit & 7 <> 0 THEN 'merged'
              ELSE 'unchanged' END,
         d.reason, coalesce(m.change_mask, 0) & d.credit,
         CASE WHEN coalesce(m.change_mask, 0) & d.credit & 7 <> 0 THEN (SELECT b.id FROM batch b) END, d.secret_version
    FROM input_deliveries d
    LEFT JOIN owners o ON o.connection_id = d.connection_id
    LEFT JOIN merged m ON m.connection_id = d.connection_id AND m.id = d.message_id AND o.account_id = d.account_id
   ORDER BY d.position
  RETURNING outcome
)
SELECT true AS applied,
       (SELECT string_agg(l.outcome, ' ') FROM logged l) AS outcomes,
       (SELECT json_object_agg(c.change_mask, c.count)
          FROM (SELECT m.change_mask, count(*) FROM merged m GROUP BY m.change_mask) c) AS masks
