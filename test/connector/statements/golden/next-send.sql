SELECT o.id AS "id",
    o.account_id AS "accountId",
    o.connection_id AS "connectionId",
    o.recipient AS "to",
    o.text AS "text",
    o.media_filename AS "mediaFilename",
    o.media_mimetype AS "mediaMimetype",
    o.media_caption AS "mediaCaption",
    o.reference AS "reference",
    o.state AS "state",
    o.message_id AS "messageId",
    o.attempts AS "attempts",
    o.last_error AS "lastError",
    o.next_attempt_at AS "nextAttemptAt",
    o.created_at AS "createdAt",
    o.updated_at AS "updatedAt",
    o.media_fingerprint AS "mediaFingerprint",
    o.idempotency_key AS "idempotencyKey",
    o.attempt_id AS "attemptId",
    o.first_attempt_at AS "firstAttemptAt",
    o.last_attempt_at AS "lastAttemptAt",
    o.in_doubt AS "inDoubt",
    CASE WHEN o.next_attempt_at - $2::bigint > greatest(1200000,
    o.next_attempt_at - o.updated_at) THEN $2::bigint ELSE o.next_attempt_at END AS "dueAt"
       FROM (
    SELECT n.* FROM connector.outbound n
     WHERE n.connection_id = $1 AND n.state IN ('queued', 'sending') AND n.position > $3::bigint
     ORDER BY n.position LIMIT 1) o
