ALTER TABLE "connector"."accounts" ADD COLUMN "reference" text;--> statement-breakpoint
ALTER TABLE "connector"."accounts" ADD COLUMN "network" text;--> statement-breakpoint
ALTER TABLE "connector"."oauth_flows" ADD COLUMN "start_id" text;--> statement-breakpoint
ALTER TABLE "connector"."oauth_flows" ADD COLUMN "browser" text;--> statement-breakpoint
ALTER TABLE "connector"."oauth_flows" ADD COLUMN "reference" text;--> statement-breakpoint
ALTER TABLE "connector"."oauth_flows" ADD COLUMN "sealed_authorization_url" text;--> statement-breakpoint
ALTER TABLE "connector"."oauth_flows" ADD CONSTRAINT "oauth_flows_start_id_unique" UNIQUE("start_id");