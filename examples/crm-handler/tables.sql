-- Sent as one query, which is one transaction; the lock lets workers that start together take turns.
SELECT pg_advisory_xact_lock(20261121);

CREATE SCHEMA IF NOT EXISTS crm;

-- The keys of the changes that were taken. A row is written in the transaction of its effect, so both are there or
-- neither is.
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
  -- The change that the status comes from. A dead letter that is replayed is older than what is here.
  status_seq bigint NOT NULL,
  PRIMARY KEY (connection_id, id)
);

-- Incoming messages whose webhook was dropped: polling brought them, and the list of messages names no sender. Show them
-- as an inbox of their own; a person assigns one with UPDATE crm.messages SET phone = … A webhook that comes late does
-- it by itself.
CREATE OR REPLACE VIEW crm.unassigned AS
  SELECT connection_id, id, text, media_url, sent_at FROM crm.messages
   WHERE direction = 'incoming' AND phone IS NULL;
