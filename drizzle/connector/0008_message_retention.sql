DROP INDEX "connector"."messages_newest";--> statement-breakpoint
DROP INDEX "connector"."messages_unknown_sender";--> statement-breakpoint
DROP INDEX "connector"."messages_erased";--> statement-breakpoint
ALTER TABLE "connector"."messages" ADD COLUMN "expired" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "messages_newest" ON "connector"."messages" USING btree ("connection_id","direction","created_at" DESC NULLS FIRST) WHERE not "connector"."messages"."erased";--> statement-breakpoint
CREATE INDEX "messages_unknown_sender" ON "connector"."messages" USING btree ("connection_id","created_at" DESC NULLS FIRST) WHERE "connector"."messages"."peer" is null and "connector"."messages"."direction" = 'incoming' and not "connector"."messages"."erased";--> statement-breakpoint
CREATE INDEX "messages_erased" ON "connector"."messages" USING btree ("connection_id","id") WHERE "connector"."messages"."erased" and not "connector"."messages"."expired";