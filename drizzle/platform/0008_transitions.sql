CREATE TABLE "platform"."sandbox_transitions" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "platform"."sandbox_transitions_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"connection_id" text NOT NULL,
	"at" bigint NOT NULL,
	"trigger" text NOT NULL,
	"from_state" text,
	"to_state" text NOT NULL,
	"needs_reconnect" boolean NOT NULL,
	"reason" text,
	"event" text
);
--> statement-breakpoint
ALTER TABLE "platform"."sandbox_transitions" ADD CONSTRAINT "sandbox_transitions_connection_id_connections_id_fk" FOREIGN KEY ("connection_id") REFERENCES "platform"."connections"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "sandbox_transitions_connection" ON "platform"."sandbox_transitions" USING btree ("connection_id","id");