ALTER TABLE "connector"."connections" ADD COLUMN "history_until" bigint;--> statement-breakpoint
ALTER TABLE "connector"."connections" ADD COLUMN "history_from" bigint;--> statement-breakpoint
ALTER TABLE "connector"."consumers" ADD COLUMN "historic" text DEFAULT 'quiet' NOT NULL;--> statement-breakpoint
ALTER TABLE "connector"."changes" ADD COLUMN "reference" text;--> statement-breakpoint
ALTER TABLE "connector"."changes" ADD COLUMN "origin" text;--> statement-breakpoint
ALTER TABLE "connector"."changes" ADD COLUMN "historic" boolean;--> statement-breakpoint
ALTER TABLE "connector"."messages" ADD COLUMN "reference" text;--> statement-breakpoint
ALTER TABLE "connector"."messages" ADD COLUMN "origin" text;--> statement-breakpoint
ALTER TABLE "connector"."messages" ADD COLUMN "historic" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "messages_unknown_origin" ON "connector"."messages" USING btree ("connection_id") WHERE "connector"."messages"."origin" = 'unknown';--> statement-breakpoint
CREATE INDEX "outbound_unanswered" ON "connector"."outbound" USING btree ("connection_id") WHERE "connector"."outbound"."in_doubt" or "connector"."outbound"."state" = 'sending';