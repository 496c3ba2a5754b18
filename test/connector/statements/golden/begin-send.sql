WITH guard AS (SELECT FROM connector.leases WHERE name = $1 AND fence = $2::bigint FOR SHARE),
begun AS (
  UPDATE connector.outbound o
     SET state = 'sending', attempt_id = $5, attempts = o.attempts + 1,
         first_attempt_at = least(o.first_attempt_at, $3::bigint), last_attempt_at = $3::bigint,
         next_attempt_at = NULL, updated_at = $3::bigint
   WHERE o.id = $4 AND o.state = 'queued' AND EXISTS (SELECT FROM guard)
  RETURNING o.*
),
batch AS MATERIALIZED (
  SELECT nextval('connector.change_batch_id') AS id FROM (SELECT count(*) FROM begun) AS all_begun
),
changed AS (
  INSERT INTO connector.changes (batch, position, type, at, account_id, connection_id, message_id, source, data)
  SELECT (SELECT b.id FROM batch b), row_number() OVER (), t.* FROM (
  SELECT 'outbound.updated',
      $3::bigint,
      o.account_id,
      o.connection_id,
      o.message_id,
      'send',
      jsonb_build_object('id',
      o.id,
      'accountId',
      o.account_id,
      'connectionId',
      o.connection_id,
      'to',
      o.recipient,
      'text',
      o.text,
      'mediaFilename',
      o.media_filename,
      'mediaMimetype',
      o.media_mimetype,
      'mediaCaption',
      o.media_caption,
      'reference',
      o.reference,
      'state',
      o.state,
      'messageId',
      o.message_id,
      'attempts',
      o.attempts,
      'lastError',
      o.last_error,
      'nextAttemptAt',
      o.next_attempt_at,
      'createdAt',
      o.created_at,
      'updatedAt',
      o.updated_at)
    FROM begun o) t
  RETURNING at
),
inserted_batch AS (
  INSERT INTO connector.change_batches (id, size, changed_at)
  SELECT (SELECT b.id FROM batch b), count(*), max(at) FROM changed HAVING count(*) > 0
  RETURNING size
)
SELECT EXISTS (SELECT FROM guard) AS held, EXISTS (SELECT FROM begun) AS done
