DROP INDEX "platform"."oauth_consents_code";--> statement-breakpoint
ALTER TABLE "platform"."oauth_consents" ADD COLUMN "user_code" text;--> statement-breakpoint
CREATE INDEX "oauth_consents_code" ON "platform"."oauth_consents" USING btree ("user_code");--> statement-breakpoint
ALTER TABLE "platform"."oauth_consents" DROP COLUMN "answer";--> statement-breakpoint
ALTER TABLE "platform"."oauth_consents" DROP COLUMN "user_code_hash";