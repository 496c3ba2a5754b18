-- Postgres and SQLite (D1). A status may arrive before its message, so both create the row.
CREATE TABLE IF NOT EXISTS messages (
  id text PRIMARY KEY,
  connection_id text NOT NULL,
  sender text,
  text text,
  media_url text,
  media_type text,
  sent_at bigint,
  status text,
  status_rank integer NOT NULL DEFAULT 0
);
