DELETE FROM "connector"."leases";--> statement-breakpoint
CREATE TABLE "connector"."processes" (
	"id" text PRIMARY KEY NOT NULL,
	"host" text NOT NULL,
	"works" boolean NOT NULL,
	"beats" bigint DEFAULT 0 NOT NULL,
	"started_at" bigint NOT NULL,
	"beat_at" bigint NOT NULL
);
--> statement-breakpoint
ALTER TABLE "connector"."senders" DISABLE ROW LEVEL SECURITY;--> statement-breakpoint
DROP TABLE "connector"."senders" CASCADE;--> statement-breakpoint
ALTER TABLE "connector"."leases" ALTER COLUMN "fence" ADD GENERATED ALWAYS AS IDENTITY (sequence name "connector"."leases_fence_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1);--> statement-breakpoint
ALTER TABLE "connector"."leases" DROP COLUMN "expires_at";