WITH input_deliveries AS (
  SELECT d.*, substring($14::bytea FROM d.starts_at FOR d.bytes) AS body
-- 384 lines as in merge-messages.sql, from: FROM unnest($1::text[],
