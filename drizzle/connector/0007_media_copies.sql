CREATE TABLE "connector"."media_keeping" (
	"only" boolean PRIMARY KEY DEFAULT true NOT NULL
);
--> statement-breakpoint
ALTER TABLE "connector"."changes" ADD COLUMN "media_copy" jsonb;--> statement-breakpoint
ALTER TABLE "connector"."messages" ADD COLUMN "media_copy" jsonb;--> statement-breakpoint
ALTER TABLE "connector"."messages" ADD COLUMN "media_due_at" bigint;--> statement-breakpoint
CREATE INDEX "messages_media_waits" ON "connector"."messages" USING btree ("media_due_at" NULLS FIRST,"first_seen_at") WHERE media_copy ->> 'state' IN ('pending', 'removing');