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
	"change_mask" smallint NOT NULL,
	"change_batch" bigint,
	"secret_version" integer
) PARTITION BY RANGE ("received_at");
--> statement-breakpoint
CREATE TABLE "connector"."inbox_default" PARTITION OF "connector"."inbox" DEFAULT;
--> statement-breakpoint
-- The deliveries of a message, day by day: those that changed something, then the others in their order. The only
-- index of the log.
CREATE INDEX "inbox_message" ON "connector"."inbox" ("message_id", "change_batch", "received_at")
  WHERE "message_id" IS NOT NULL;
--> statement-breakpoint
-- Room on each page for the status updates of a message to stay on it.
ALTER TABLE "connector"."messages" SET (fillfactor = 80);
--> statement-breakpoint
INSERT INTO "connector"."feed" ("only", "last_seq") VALUES (true, 0);
--> statement-breakpoint
-- Orders batches of changes: taken once every row is locked that a batch changed. One process must not set
-- numbers aside for later.
CREATE SEQUENCE "connector"."change_batch_id" AS bigint CACHE 1;
--> statement-breakpoint
-- Gives up to "most" committed batches of changes their numbers, in the order of "id" and without a gap.
-- The row lock on the feed is held to the commit: it is lease and fence at once, and it lasts as long as this
-- call. Each statement inside sees what was committed before it began, so batches are read under the lock.
-- The planner believes that few batches wait, since mostly none do, and would join them in a nested loop: a
-- backlog would take the square of its length. The settings leave it the plans that are linear.
CREATE FUNCTION "connector"."number_changes"(most integer, OUT numbered integer, OUT last_seq bigint)
LANGUAGE plpgsql SET enable_nestloop = off SET enable_seqscan = off AS $$
DECLARE
  reached bigint;
BEGIN
  SELECT f.last_seq INTO STRICT last_seq FROM connector.feed f FOR UPDATE;
  WITH next AS (
    SELECT w.id, number_changes.last_seq + sum(w.size) OVER (ORDER BY w.id) AS upto
      FROM (SELECT u.id, u.size FROM connector.change_batches u
             WHERE u.last_seq IS NULL ORDER BY u.id LIMIT most) w
  ),
  given AS (
    UPDATE connector.change_batches b SET last_seq = next.upto
      FROM next WHERE b.id = next.id AND b.last_seq IS NULL
    RETURNING b.last_seq
  )
  SELECT count(*), max(g.last_seq) INTO numbered, reached FROM given g;
  IF numbered > 0 THEN
    last_seq := reached;
    UPDATE connector.feed f SET last_seq = reached;
  END IF;
END
$$;
--> statement-breakpoint
-- Ends a statement that lost a race as a serialization failure does: repeating it succeeds.
CREATE FUNCTION "connector"."fail_for_retry"() RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'two statements made a connection at once' USING ERRCODE = '40001';
END
$$;
--> statement-breakpoint
-- The queue of the hand-over is empty most of the time, and very long after an outage of the CRM. A plan that was
-- made while it was empty would read all of it for each change; the settings leave the planner the index.
CREATE FUNCTION "connector"."handover_head"(connection text, most integer)
RETURNS SETOF "connector"."handover_queue" LANGUAGE sql STABLE ROWS 50
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
  SELECT * FROM connector.handover_queue q WHERE q.connection_id = connection ORDER BY q.seq LIMIT most
$$;
--> statement-breakpoint
CREATE FUNCTION "connector"."leave_handover_queue"(connection text, number bigint)
RETURNS SETOF "connector"."handover_queue" LANGUAGE sql VOLATILE ROWS 1
SET enable_seqscan = off AS $$
  DELETE FROM connector.handover_queue q WHERE q.connection_id = connection AND q.seq = number RETURNING q.*
$$;
