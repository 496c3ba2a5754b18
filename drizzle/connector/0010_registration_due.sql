ALTER TABLE "connector"."subscriptions" ADD COLUMN "register_due_at" bigint;--> statement-breakpoint
ALTER TABLE "connector"."subscriptions" ADD COLUMN "register_failures" integer DEFAULT 0 NOT NULL;