DELETE FROM "platform"."sends" WHERE "answer" IS NULL;--> statement-breakpoint
ALTER TABLE "platform"."sends" ALTER COLUMN "answer" SET NOT NULL;