-- Sent as one query, which is one transaction. The lock serializes workers that start at the same time.
SELECT pg_advisory_xact_lock(20261121);

CREATE SCHEMA IF NOT EXISTS crm;

-- The keys of processed changes. A row is written in the transaction of its effect, so either both exist or neither.
CREATE TABLE IF NOT EXISTS crm.taken_changes (
  key text PRIMARY KEY,
  taken_at timestamptz NOT NULL
);

CREATE TABLE IF NOT EXISTS crm.contacts (
  phone text PRIMARY KEY,
  first_seen_at timestamptz NOT NULL
);

CREATE TABLE IF NOT EXISTS crm.conversations (
  connection_id text NOT NULL,
  phone text NOT NULL REFERENCES crm.contacts,
  last_message_at timestamptz NOT NULL,
  PRIMARY KEY (connection_id, phone)
);

CREATE TABLE IF NOT EXISTS crm.messages (
  connection_id text NOT NULL,
  id text NOT NULL,
  phone text,
  direction text,
  text text,
  media_url text,
  status text,
  sent_at timestamptz,
  -- The change that set the status. A replayed dead letter is older than the stored status.
  status_seq bigint NOT NULL,
  PRIMARY KEY (connection_id, id)
);

-- Incoming messages whose webhook was dropped: polling stored them, and the service's list does not contain the sender.
-- Show them as a separate inbox, in which a person assigns each with UPDATE crm.messages SET phone = … A webhook that
-- arrives late assigns it automatically.
CREATE OR REPLACE VIEW crm.unassigned AS
  SELECT connection_id, id, text, media_url, sent_at FROM crm.messages
   WHERE direction = 'incoming' AND phone IS NULL;
