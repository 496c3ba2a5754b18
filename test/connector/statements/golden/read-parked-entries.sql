SELECT w.key, e.attempts, c.*
  FROM unnest($2::text[], $3::bigint[]) AS w (key, above)
 CROSS JOIN LATERAL (
   SELECT n.seq, n.attempts FROM connector.parked_entries n
    WHERE n.consumer = $1 AND n.key = w.key AND n.seq > w.above ORDER BY n.seq LIMIT 100) e
 CROSS JOIN LATERAL (
   SELECT n.* FROM connector.change_batches n
    WHERE n.last_seq >= e.seq ORDER BY n.last_seq LIMIT 1) b
 CROSS JOIN LATERAL (
   SELECT e.seq,
       h.type AS "type",
       h.at AS "at",
       h.account_id AS "accountId",
       h.connection_id AS "connectionId",
       h.message_id AS "messageId",
       h.status AS "status",
       h.previous_status AS "previousStatus",
       h.direction AS "direction",
       h.peer AS "peer",
       h.text AS "text",
       h.media_url AS "mediaUrl",
       h.media_type AS "mediaType",
       h.error_message AS "errorMessage",
       h.reference AS "reference",
       h.media_copy AS "mediaCopy",
       h.origin AS "origin",
       h.created_at AS "createdAt",
       h.first_seen_by AS "firstSeenBy",
       h.historic AS "historic",
       h.data AS "data" FROM connector.changes h
    WHERE h.batch = b.id AND h.at = b.changed_at AND h.position = b.size - (b.last_seq - e.seq) OFFSET 0) c
 ORDER BY w.key, e.seq
