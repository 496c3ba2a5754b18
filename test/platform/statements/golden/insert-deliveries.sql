INSERT INTO platform.deliveries
    (id, event_id, subscription_id, url, outcome, reason, created_at, signed_at, signature, attempts, variant)
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[],
    $8::bigint[], $9::text[], $10::text[], $11::text[])
  ON CONFLICT (id) DO NOTHING
