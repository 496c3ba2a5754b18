WITH input_deliveries AS (
  SELECT d.*, substring($14::bytea FROM d.starts_at FOR d.bytes) AS body
-- 625 lines as in merge-events.sql, from: FROM unnest($1::text[],
