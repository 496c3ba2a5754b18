-- The raw log of verified deliveries: append-only, no unique key, one partition for each UTC day.
-- Days are made ahead by the connector; what falls outside of them goes to the default partition.
CREATE SEQUENCE "connector"."inbox_id" AS bigint CACHE 1;
--> statement-breakpoint
CREATE TABLE "connector"."inbox" (
	"received_at" bigint NOT NULL,
	"id" bigint DEFAULT nextval('"connector"."inbox_id"') NOT NULL,
	"subscription_id" text NOT NULL,
	"account_id" text NOT NULL,
	"signed_at" bigint NOT NULL,
	"body" bytea NOT NULL,
	"event" text,
	"connection_id" text,
	"message_id" text,
	"outcome" text NOT NULL,
	"reason" text,
	"change_mask" smallint NOT NULL
) PARTITION BY RANGE ("received_at");
--> statement-breakpoint
CREATE TABLE "connector"."inbox_default" PARTITION OF "connector"."inbox" DEFAULT;
--> statement-breakpoint
-- Room on each page for the status updates of a message to stay on it.
ALTER TABLE "connector"."messages" SET (fillfactor = 80);
--> statement-breakpoint
INSERT INTO "connector"."feed" ("only", "last_seq") VALUES (true, 0);
--> statement-breakpoint
-- Gives about "batch" committed changes their "seq", in the order of "id" and without a gap.
-- The row lock on the feed is held to the commit: it is lease and fence at once, and it lasts as long as this
-- call. Each statement inside sees what was committed before it began, so changes are read under the lock.
-- The planner believes that few changes wait, since mostly none do, and would join them in a nested loop: a
-- backlog would take the square of its length. The settings leave it the plans that are linear.
CREATE FUNCTION "connector"."number_changes"(batch integer, OUT numbered integer, OUT last_seq bigint)
LANGUAGE plpgsql SET enable_nestloop = off SET enable_seqscan = off AS $$
DECLARE
  last_id bigint;
BEGIN
  numbered := 0;
  SELECT f.last_seq INTO STRICT last_seq FROM connector.feed f FOR UPDATE;
  SELECT max(w.id) INTO last_id
    FROM (SELECT c.id FROM connector.changes c WHERE c.seq IS NULL ORDER BY c.id LIMIT batch) w;
  IF last_id IS NULL THEN
    RETURN;
  END IF;
  UPDATE connector.changes c
     SET seq = number_changes.last_seq + next.position
    FROM (SELECT u.id, row_number() OVER (ORDER BY u.id) AS position
            FROM connector.changes u WHERE u.seq IS NULL AND u.id <= last_id) next
   WHERE c.id = next.id AND c.seq IS NULL AND c.id <= last_id;
  GET DIAGNOSTICS numbered = ROW_COUNT;
  last_seq := last_seq + numbered;
  UPDATE connector.feed f SET last_seq = number_changes.last_seq;
END
$$;
--> statement-breakpoint
-- Ends a statement that lost a race as a serialization failure does: repeating it succeeds.
CREATE FUNCTION "connector"."fail_for_retry"() RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'two statements made a connection at once' USING ERRCODE = '40001';
END
$$;
