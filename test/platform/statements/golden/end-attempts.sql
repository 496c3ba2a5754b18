UPDATE platform.deliveries AS d
  SET attempts = d.attempts || e.attempts, outcome = e.outcome, reason = e.reason, due_at = e.due_at,
    held = d.held AND e.outcome = 'pending'
  FROM unnest($1::bigint[], $2::smallint[], $3::jsonb[], $4::text[], $5::text[], $6::bigint[])
    AS e (id, made, attempts, outcome, reason, due_at)
  WHERE d.id = e.id AND d.made = e.made AND d.due_at IS NULL AND d.outcome = 'pending'
  RETURNING d.id, d.attempts, d.held
