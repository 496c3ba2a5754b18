ALTER TABLE "platform"."oauth_consents" DROP COLUMN "form_hash";--> statement-breakpoint
ALTER TABLE "platform"."oauth_consents" ADD COLUMN "answer" text;
