UPDATE platform.deliveries AS d
  SET made = e.made, attempts = d.attempts || e.attempts, outcome = e.outcome, reason = e.reason, due_at = e.due_at,
    held = d.held AND e.outcome = 'pending', url = coalesce(d.url, e.url), secret = coalesce(d.secret, e.secret),
    signed_at = coalesce(d.signed_at, e.signed_at)
  FROM unnest($1::bigint[], $2::jsonb[]) AS given (id, value),
    jsonb_to_record(value) AS e (made smallint, attempts jsonb, outcome text, reason text, due_at bigint, url text,
      secret text, signed_at bigint)
  WHERE d.id = given.id AND d.made = e.made - 1 AND d.outcome = 'pending'
  RETURNING d.id, d.attempts, d.held
