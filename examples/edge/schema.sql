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
-- Events of messages that lack a field, or have it in another type: their bytes in base64.
CREATE TABLE IF NOT EXISTS unread_events (
  digest text PRIMARY KEY,
  body text NOT NULL
);
