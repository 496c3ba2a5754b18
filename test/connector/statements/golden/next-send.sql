SELECT o.id, o.account_id as "accountId", o.connection_id as "connectionId", o.recipient as "to",
  o.text, o.media_filename as "mediaFilename", o.media_mimetype as "mediaMimetype",
  o.media_caption as "mediaCaption", o.media_fingerprint as "mediaFingerprint", o.idempotency_key as "idempotencyKey",
  o.state, o.attempts, o.attempt_id as "attemptId", o.first_attempt_at as "firstAttemptAt",
  o.last_attempt_at as "lastAttemptAt", o.lost_at as "lostAt", o.in_doubt as "inDoubt",
  o.next_attempt_at as "nextAttemptAt" FROM (
    SELECT either.* FROM (
      SELECT n.* FROM connector.outbound n
       WHERE n.connection_id = $1 AND n.state IN ('queued', 'sending') ORDER BY n.position LIMIT 1) head
     CROSS JOIN LATERAL (
      SELECT head.*
       UNION ALL
      (SELECT n.* FROM connector.outbound n
        WHERE head.state = 'sending' AND head.attempt_id IS NULL AND NOT head.awaits_service
          AND n.connection_id = head.connection_id AND n.state IN ('queued',
              'sending') AND n.recipient <> head.recipient
        ORDER BY n.position LIMIT 1)) either
     ORDER BY greatest(either.next_attempt_at, $2::bigint), either.position LIMIT 1) o
