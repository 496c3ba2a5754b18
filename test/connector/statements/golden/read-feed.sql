SELECT b.last_seq - b.size + c.position AS seq,
    type,
    at,
    account_id,
    connection_id,
    message_id,
    status,
    previous_status,
  direction, peer, text, media_url, media_type, error_message, created_at, first_seen_by, data
       FROM connector.change_batches b
      CROSS JOIN LATERAL (
        SELECT * FROM connector.changes WHERE batch = b.id  ORDER BY position OFFSET 0) c
      WHERE b.last_seq > $1::bigint  AND b.last_seq - b.size + c.position > $1::bigint
      ORDER BY b.last_seq, c.position LIMIT $2::bigint
