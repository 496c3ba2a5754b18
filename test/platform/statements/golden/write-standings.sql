UPDATE platform.messages m SET status = u.status, receipts = u.receipts,
    error_message = CASE WHEN u.status = 'failed' THEN $4 ELSE m.error_message END
  FROM unnest($1::text[], $2::text[], $3::int[]) AS u (id, status, receipts)
  WHERE m.id = u.id
