CREATE INDEX "messages_position" ON "platform"."messages" USING btree ("position");--> statement-breakpoint
CREATE INDEX "deliveries_event" ON "platform"."deliveries" USING btree ("event_id");--> statement-breakpoint
CREATE INDEX "deliveries_subscription" ON "platform"."deliveries" USING btree ("subscription_id","id");--> statement-breakpoint
CREATE INDEX "ledger_message" ON "platform"."ledger" USING btree ("message_id") WHERE "platform"."ledger"."message_id" is not null;