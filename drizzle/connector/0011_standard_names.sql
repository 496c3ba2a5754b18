-- The terms of the documentation: dispatch, queue, minimum and maximum, invalid.
ALTER TABLE "connector"."handover" RENAME TO "dispatch";
--> statement-breakpoint
ALTER INDEX "connector"."handover_pkey" RENAME TO "dispatch_pkey";
--> statement-breakpoint
ALTER TABLE "connector"."handover_lanes" RENAME TO "dispatch_queues";
--> statement-breakpoint
ALTER INDEX "connector"."handover_lanes_pkey" RENAME TO "dispatch_queues_pkey";
--> statement-breakpoint
DROP FUNCTION "connector"."handover_head"(text, integer);
--> statement-breakpoint
DROP FUNCTION "connector"."leave_handover_queue"(text, bigint);
--> statement-breakpoint
ALTER TABLE "connector"."handover_queue" RENAME TO "dispatch_entries";
--> statement-breakpoint
ALTER INDEX "connector"."handover_queue_pkey" RENAME TO "dispatch_entries_pkey";
--> statement-breakpoint
ALTER INDEX "connector"."outbound_lane" RENAME TO "outbound_queue";
--> statement-breakpoint
ALTER TABLE "connector"."receiver_tallies" RENAME COLUMN "least_ms" TO "min_ms";
--> statement-breakpoint
ALTER TABLE "connector"."receiver_tallies" RENAME COLUMN "most_ms" TO "max_ms";
--> statement-breakpoint
UPDATE "connector"."inbox" SET "outcome" = 'invalid' WHERE "outcome" = 'misfit';
--> statement-breakpoint
-- The queue of a connection is empty most of the time, and very long after an outage of the CRM. A plan made while
-- it was empty would read the whole table for each change; the settings leave the planner only the index.
CREATE FUNCTION "connector"."dispatch_head"(connection text, most integer)
RETURNS SETOF "connector"."dispatch_entries" LANGUAGE sql STABLE ROWS 50
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
  SELECT * FROM connector.dispatch_entries q WHERE q.connection_id = connection ORDER BY q.seq LIMIT most
$$;
--> statement-breakpoint
CREATE FUNCTION "connector"."leave_dispatch_queue"(connection text, number bigint)
RETURNS SETOF "connector"."dispatch_entries" LANGUAGE sql VOLATILE ROWS 1
SET enable_seqscan = off AS $$
  DELETE FROM connector.dispatch_entries q WHERE q.connection_id = connection AND q.seq = number RETURNING q.*
$$;
