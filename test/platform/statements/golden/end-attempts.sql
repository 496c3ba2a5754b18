INSERT INTO platform.deliveries AS d OVERRIDING SYSTEM VALUE
  SELECT e.* FROM jsonb_populate_recordset(NULL::platform.deliveries, $1) AS e
  ON CONFLICT (id) DO UPDATE
  SET (made, outcome, reason, due_at) = ROW (excluded.made, excluded.outcome, excluded.reason, excluded.due_at),
    attempts = d.attempts || excluded.attempts, held = d.held AND excluded.outcome = 'pending',
    url = coalesce(d.url, excluded.url), secret = coalesce(d.secret, excluded.secret),
    signed_at = coalesce(d.signed_at, excluded.signed_at)
  WHERE d.made = excluded.made - 1 AND d.outcome = 'pending'
  RETURNING d.id, d.attempts, d.held
