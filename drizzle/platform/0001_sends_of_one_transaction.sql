DROP TABLE "platform"."assigned_keys";--> statement-breakpoint
DROP INDEX "platform"."messages_files";--> statement-breakpoint
DROP INDEX "platform"."sends_in_progress";--> statement-breakpoint
DROP INDEX "platform"."sends_key";--> statement-breakpoint
DELETE FROM "platform"."sends" WHERE "key_hash" IS NULL;--> statement-breakpoint
ALTER TABLE "platform"."sends" ALTER COLUMN "key_hash" SET NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "sends_key" ON "platform"."sends" USING btree ("workspace_id","key_hash");--> statement-breakpoint
ALTER TABLE "platform"."sends" DROP COLUMN "connection_id";--> statement-breakpoint
ALTER TABLE "platform"."sends" DROP COLUMN "recipient";--> statement-breakpoint
ALTER TABLE "platform"."sends" DROP COLUMN "text";--> statement-breakpoint
ALTER TABLE "platform"."sends" DROP COLUMN "media_id";--> statement-breakpoint
ALTER TABLE "platform"."sends" DROP COLUMN "media_type";--> statement-breakpoint
ALTER TABLE "platform"."sends" DROP COLUMN "started_at";