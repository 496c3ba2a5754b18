DROP TABLE "connector"."named_settings" CASCADE;--> statement-breakpoint
DROP TABLE "connector"."loaded_tokens" CASCADE;--> statement-breakpoint
ALTER TABLE "connector"."subscriptions" ADD COLUMN "accepted_app" text;--> statement-breakpoint
ALTER TABLE "connector"."connections" DROP COLUMN "license_notice";