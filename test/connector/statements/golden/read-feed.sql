SELECT b.last_seq - b.size + c.position AS seq,
    c.type AS "type",
    c.at AS "at",
    c.account_id AS "accountId",
    c.connection_id AS "connectionId",
    c.message_id AS "messageId",
    c.status AS "status",
    c.previous_status AS "previousStatus",
    c.direction AS "direction",
    c.peer AS "peer",
    c.text AS "text",
    c.media_url AS "mediaUrl",
    c.media_type AS "mediaType",
    c.error_message AS "errorMessage",
    c.reference AS "reference",
    c.media_copy AS "mediaCopy",
    c.origin AS "origin",
    c.created_at AS "createdAt",
    c.first_seen_by AS "firstSeenBy",
    c.historic AS "historic",
    c.data AS "data"
       FROM connector.change_batches b
      CROSS JOIN LATERAL (
        SELECT * FROM connector.changes WHERE batch = b.id AND at = b.changed_at  ORDER BY position OFFSET 0) c
      WHERE b.last_seq > $1::bigint  AND b.last_seq - b.size + c.position > $1::bigint
      ORDER BY b.last_seq, c.position LIMIT $2::bigint
