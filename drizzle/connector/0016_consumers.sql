CREATE TABLE "connector"."consumer_places" (
	"consumer" text NOT NULL,
	"partition" integer NOT NULL,
	"place" bigint NOT NULL,
	"open" boolean DEFAULT false NOT NULL,
	CONSTRAINT "consumer_places_pkey" PRIMARY KEY("consumer","partition")
);
--> statement-breakpoint
CREATE TABLE "connector"."consumers" (
	"name" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"state" text DEFAULT 'running' NOT NULL,
	"disabled_reason" text,
	"filter" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"batch" integer DEFAULT 1 NOT NULL,
	"concurrency" integer DEFAULT 50 NOT NULL,
	"attempts" integer DEFAULT 12 NOT NULL,
	"deadline_ms" integer DEFAULT 30000 NOT NULL,
	"place_changes" integer DEFAULT 500 NOT NULL,
	"place_ms" integer DEFAULT 500 NOT NULL,
	"settings" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"sealed_secret" text,
	"sealed_previous_secret" text,
	"previous_until" bigint,
	"sealed_redis_url" text,
	"version" bigint DEFAULT 1 NOT NULL,
	"created_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "connector"."parked" (
	"consumer" text NOT NULL,
	"key" text NOT NULL,
	"partition" integer NOT NULL,
	"connection_id" text NOT NULL,
	"seq" bigint NOT NULL,
	"due_at" bigint NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"last_error" text,
	"since" bigint NOT NULL,
	"revision" integer DEFAULT 1 NOT NULL,
	CONSTRAINT "parked_pkey" PRIMARY KEY("consumer","key")
);
--> statement-breakpoint
CREATE TABLE "connector"."parked_entries" (
	"consumer" text NOT NULL,
	"key" text NOT NULL,
	"seq" bigint NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "parked_entries_pkey" PRIMARY KEY("consumer","key","seq")
);
--> statement-breakpoint
ALTER TABLE "connector"."dead_letters" ADD COLUMN "consumer" text DEFAULT 'handler' NOT NULL;--> statement-breakpoint
ALTER TABLE "connector"."dead_letters" ALTER COLUMN "consumer" DROP DEFAULT;--> statement-breakpoint
ALTER TABLE "connector"."dead_letters" DROP CONSTRAINT "dead_letters_pkey";--> statement-breakpoint
ALTER TABLE "connector"."dead_letters" ADD CONSTRAINT "dead_letters_pkey" PRIMARY KEY("consumer","seq");--> statement-breakpoint
ALTER TABLE "connector"."dead_letters" DROP COLUMN "batch";--> statement-breakpoint
ALTER TABLE "connector"."dead_letters" DROP COLUMN "position";--> statement-breakpoint
-- The handler continues where it was: what waited in a queue is parked and due at once.
INSERT INTO "connector"."consumers" ("name", "kind", "created_at")
SELECT 'handler', 'handler', coalesce((SELECT b."changed_at" FROM "connector"."change_batches" b ORDER BY b."id" DESC LIMIT 1), 0)
  FROM "connector"."dispatch";
--> statement-breakpoint
INSERT INTO "connector"."consumer_places" ("consumer", "partition", "place")
SELECT 'handler', p, d."cursor" FROM "connector"."dispatch" d CROSS JOIN generate_series(0, 15) p;
--> statement-breakpoint
INSERT INTO "connector"."parked_entries" ("consumer", "key", "seq", "attempts")
SELECT 'handler', e."connection_id", e."seq", e."attempts" FROM "connector"."dispatch_entries" e;
--> statement-breakpoint
INSERT INTO "connector"."parked" ("consumer", "key", "partition", "connection_id", "seq", "due_at", "attempts", "since")
SELECT DISTINCT ON (e."connection_id") 'handler', e."connection_id",
       get_byte(sha256(convert_to(e."connection_id", 'UTF8')), 0) & 15, e."connection_id", e."seq", 0, e."attempts", coalesce(q."due_at", 0)
  FROM "connector"."dispatch_entries" e LEFT JOIN "connector"."dispatch_queues" q USING ("connection_id")
 ORDER BY e."connection_id", e."seq";
--> statement-breakpoint
DROP FUNCTION "connector"."dispatch_head"(text, integer);--> statement-breakpoint
DROP FUNCTION "connector"."leave_dispatch_queue"(text, bigint);--> statement-breakpoint
DROP TABLE "connector"."dispatch";--> statement-breakpoint
DROP TABLE "connector"."dispatch_entries";--> statement-breakpoint
DROP TABLE "connector"."dispatch_queues";
