ALTER TABLE "connector"."connections" ADD COLUMN "webhook_at" bigint;--> statement-breakpoint
ALTER TABLE "connector"."messages" ADD COLUMN "webhook_at" bigint;--> statement-breakpoint
-- What is not known of older messages is known of their connections: a webhook brought the first word of some.
UPDATE "connector"."connections" c SET "webhook_at" = (
  SELECT max(m."first_seen_at") FROM "connector"."messages" m
   WHERE m."connection_id" = c."connection_id" AND m."first_seen_by" = 'webhook');--> statement-breakpoint
ALTER TABLE "connector"."messages" DROP COLUMN "updated_at";