CREATE SCHEMA "platform";
--> statement-breakpoint
CREATE TABLE "platform"."api_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"workspace_id" text NOT NULL,
	"hash" "bytea" NOT NULL,
	"scopes" text[] NOT NULL,
	"connection_ids" text[],
	"ip_allowlist" text[],
	"created_at" bigint NOT NULL,
	"revoked_at" bigint,
	"position" bigint GENERATED ALWAYS AS IDENTITY (sequence name "platform"."api_keys_position_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	CONSTRAINT "api_keys_hash_unique" UNIQUE("hash")
);
--> statement-breakpoint
CREATE TABLE "platform"."connections" (
	"id" text PRIMARY KEY NOT NULL,
	"workspace_id" text NOT NULL,
	"provider" text NOT NULL,
	"phone_number" text,
	"label" text NOT NULL,
	"tier" text NOT NULL,
	"state" text NOT NULL,
	"needs_reconnect" boolean NOT NULL,
	"reported_broken" boolean NOT NULL,
	"is_default" boolean NOT NULL,
	"profile_pic_url" text,
	"position" bigint GENERATED ALWAYS AS IDENTITY (sequence name "platform"."connections_position_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"created_at" bigint NOT NULL,
	"paired_at" bigint,
	"warmup_until" bigint
);
--> statement-breakpoint
CREATE TABLE "platform"."licenses" (
	"id" text PRIMARY KEY NOT NULL,
	"workspace_id" text NOT NULL,
	"connection_id" text,
	"kind" text NOT NULL,
	"expires_at" bigint NOT NULL,
	"created_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "platform"."workspaces" (
	"id" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"slots" integer NOT NULL,
	"last_created_at" bigint NOT NULL,
	"created_at" bigint NOT NULL,
	"position" bigint GENERATED ALWAYS AS IDENTITY (sequence name "platform"."workspaces_position_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1)
);
--> statement-breakpoint
CREATE TABLE "platform"."media" (
	"id" text PRIMARY KEY NOT NULL,
	"filename" text NOT NULL,
	"mimetype" text NOT NULL,
	"bytes" integer NOT NULL,
	"sha256" "bytea" NOT NULL,
	"created_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "platform"."media_bytes" (
	"media_id" text PRIMARY KEY NOT NULL,
	"bytes" "bytea" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "platform"."messages" (
	"id" text PRIMARY KEY NOT NULL,
	"position" bigint GENERATED ALWAYS AS IDENTITY (sequence name "platform"."messages_position_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"workspace_id" text NOT NULL,
	"connection_id" text NOT NULL,
	"direction" text NOT NULL,
	"peer" text NOT NULL,
	"text" text,
	"media_id" text,
	"media_type" text,
	"status" text NOT NULL,
	"receipts" smallint NOT NULL,
	"error_message" text,
	"wa_message_id" text,
	"created_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "platform"."sends" (
	"message_id" text PRIMARY KEY NOT NULL,
	"workspace_id" text NOT NULL,
	"key_hash" "bytea" NOT NULL,
	"message_hash" "bytea" NOT NULL,
	"answer" text NOT NULL,
	"expires_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "platform"."contacts" (
	"phone" text PRIMARY KEY NOT NULL,
	"on_network" boolean NOT NULL,
	"deliver_after_ms" bigint,
	"read_after_ms" bigint,
	"fail_after_ms" bigint,
	"auto_reply" text
);
--> statement-breakpoint
CREATE TABLE "platform"."phone_messages" (
	"message_id" text PRIMARY KEY NOT NULL,
	"position" bigint GENERATED ALWAYS AS IDENTITY (sequence name "platform"."phone_messages_position_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"phone" text NOT NULL,
	"connection_id" text NOT NULL,
	"sender" text NOT NULL,
	"text" text,
	"media_id" text,
	"wa_message_id" text NOT NULL,
	"at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "platform"."oauth_apps" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"secret_hash" "bytea" NOT NULL,
	"redirect_uris" text[] NOT NULL,
	"scopes" text[] NOT NULL,
	"owner_workspace_id" text,
	"legacy_subscription" boolean NOT NULL,
	"enabled" boolean NOT NULL,
	"position" bigint GENERATED ALWAYS AS IDENTITY (sequence name "platform"."oauth_apps_position_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"created_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "platform"."oauth_codes" (
	"hash" "bytea" PRIMARY KEY NOT NULL,
	"grant_id" text NOT NULL,
	"redirect_uri" text NOT NULL,
	"challenge" text NOT NULL,
	"expires_at" bigint NOT NULL,
	"consumed_at" bigint
);
--> statement-breakpoint
CREATE TABLE "platform"."oauth_consents" (
	"id" text PRIMARY KEY NOT NULL,
	"app_id" text NOT NULL,
	"browser_hash" "bytea" NOT NULL,
	"request" text NOT NULL,
	"user_code" text,
	"portal_workspace_id" text,
	"expires_at" bigint NOT NULL,
	"closed_at" bigint
);
--> statement-breakpoint
CREATE TABLE "platform"."oauth_grants" (
	"id" text PRIMARY KEY NOT NULL,
	"app_id" text NOT NULL,
	"workspace_id" text NOT NULL,
	"scopes" text[] NOT NULL,
	"connection_ids" text[] NOT NULL,
	"resource" text,
	"legacy" boolean NOT NULL,
	"refreshes" integer NOT NULL,
	"expires_at" bigint,
	"revoked_at" bigint,
	"position" bigint GENERATED ALWAYS AS IDENTITY (sequence name "platform"."oauth_grants_position_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"created_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "platform"."oauth_refresh_tokens" (
	"hash" "bytea" PRIMARY KEY NOT NULL,
	"grant_id" text NOT NULL,
	"expires_at" bigint NOT NULL,
	"consumed_at" bigint
);
--> statement-breakpoint
CREATE TABLE "platform"."oauth_signing_keys" (
	"kid" text PRIMARY KEY NOT NULL,
	"private_jwk" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "platform"."create_keys" (
	"workspace_id" text NOT NULL,
	"key_hash" "bytea" NOT NULL,
	"body_hash" "bytea" NOT NULL,
	"connection_id" text NOT NULL,
	"created_at" bigint NOT NULL,
	CONSTRAINT "create_keys_workspace_id_key_hash_pk" PRIMARY KEY("workspace_id","key_hash")
);
--> statement-breakpoint
CREATE TABLE "platform"."paired_numbers" (
	"workspace_id" text NOT NULL,
	"phone_number" text NOT NULL,
	"warmup_until" bigint,
	CONSTRAINT "paired_numbers_workspace_id_phone_number_pk" PRIMARY KEY("workspace_id","phone_number")
);
--> statement-breakpoint
CREATE TABLE "platform"."pairing_sessions" (
	"connection_id" text PRIMARY KEY NOT NULL,
	"secret" "bytea" NOT NULL,
	"code" text,
	"code_phone" text,
	"code_expires_at" bigint,
	"code_requests" bigint[] NOT NULL
);
--> statement-breakpoint
CREATE TABLE "platform"."sandbox_state" (
	"name" text PRIMARY KEY NOT NULL,
	"value" text NOT NULL
);
--> statement-breakpoint
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
CREATE TABLE "platform"."held_reports" (
	"position" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "platform"."held_reports_position_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"connection_id" text NOT NULL,
	"report" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "platform"."network_sessions" (
	"connection_id" text PRIMARY KEY NOT NULL,
	"alive" boolean NOT NULL,
	"credentials" boolean NOT NULL,
	"cause" text,
	"heals" boolean,
	"outage_id" text,
	"phone_on" boolean NOT NULL,
	"blocked" text[] NOT NULL
);
--> statement-breakpoint
CREATE TABLE "platform"."service_state" (
	"id" smallint PRIMARY KEY NOT NULL,
	"clock_offset_ms" bigint NOT NULL,
	"frozen_at" bigint,
	"cursor_key" "bytea" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "platform"."timers" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "platform"."timers_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"due_at" bigint NOT NULL,
	"kind" text NOT NULL,
	"payload" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "platform"."deliveries" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "platform"."deliveries_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"event_id" bigint NOT NULL,
	"subscription_id" text NOT NULL,
	"created_at" bigint NOT NULL,
	"outcome" text DEFAULT 'pending' NOT NULL,
	"reason" text,
	"due_at" bigint,
	"held" boolean DEFAULT false NOT NULL,
	"made" smallint DEFAULT 0 NOT NULL,
	"url" text,
	"secret" text,
	"signed_at" bigint,
	"attempts" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"variant" json
);
--> statement-breakpoint
CREATE TABLE "platform"."ledger" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "platform"."ledger_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"seq" bigint,
	"at" bigint NOT NULL,
	"workspace_id" text NOT NULL,
	"connection_id" text NOT NULL,
	"message_id" text,
	"event" text NOT NULL,
	"status" text,
	"body" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "platform"."ledger_position" (
	"id" smallint PRIMARY KEY NOT NULL,
	"last_seq" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "platform"."webhook_configurations" (
	"subscription_id" text PRIMARY KEY NOT NULL,
	"url" text NOT NULL,
	"secret" text NOT NULL,
	"changed_at" bigint NOT NULL
);
--> statement-breakpoint
ALTER TABLE "platform"."pairing_sessions" ADD CONSTRAINT "pairing_sessions_connection_id_connections_id_fk" FOREIGN KEY ("connection_id") REFERENCES "platform"."connections"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "platform"."sandbox_transitions" ADD CONSTRAINT "sandbox_transitions_connection_id_connections_id_fk" FOREIGN KEY ("connection_id") REFERENCES "platform"."connections"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "platform"."held_reports" ADD CONSTRAINT "held_reports_connection_id_connections_id_fk" FOREIGN KEY ("connection_id") REFERENCES "platform"."connections"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "platform"."network_sessions" ADD CONSTRAINT "network_sessions_connection_id_connections_id_fk" FOREIGN KEY ("connection_id") REFERENCES "platform"."connections"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "api_keys_workspace" ON "platform"."api_keys" USING btree ("workspace_id");--> statement-breakpoint
CREATE INDEX "connections_workspace" ON "platform"."connections" USING btree ("workspace_id","position");--> statement-breakpoint
CREATE INDEX "licenses_workspace" ON "platform"."licenses" USING btree ("workspace_id");--> statement-breakpoint
CREATE UNIQUE INDEX "licenses_connection" ON "platform"."licenses" USING btree ("connection_id") WHERE "platform"."licenses"."connection_id" is not null;--> statement-breakpoint
CREATE INDEX "messages_position" ON "platform"."messages" USING btree ("position");--> statement-breakpoint
CREATE INDEX "messages_workspace" ON "platform"."messages" USING btree ("workspace_id","position");--> statement-breakpoint
CREATE INDEX "messages_connection" ON "platform"."messages" USING btree ("connection_id","position");--> statement-breakpoint
CREATE INDEX "messages_chat" ON "platform"."messages" USING btree ("connection_id","peer","position") WHERE "platform"."messages"."direction" = 'incoming';--> statement-breakpoint
CREATE INDEX "messages_media" ON "platform"."messages" USING btree ("media_id") WHERE "platform"."messages"."media_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "sends_key" ON "platform"."sends" USING btree ("workspace_id","key_hash");--> statement-breakpoint
CREATE INDEX "sends_expiry" ON "platform"."sends" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "phone_messages_phone" ON "platform"."phone_messages" USING btree ("phone","position");--> statement-breakpoint
CREATE INDEX "oauth_consents_code" ON "platform"."oauth_consents" USING btree ("user_code");--> statement-breakpoint
CREATE INDEX "oauth_grants_app" ON "platform"."oauth_grants" USING btree ("app_id","workspace_id");--> statement-breakpoint
CREATE INDEX "oauth_grants_workspace" ON "platform"."oauth_grants" USING btree ("workspace_id");--> statement-breakpoint
CREATE INDEX "oauth_refresh_tokens_grant" ON "platform"."oauth_refresh_tokens" USING btree ("grant_id");--> statement-breakpoint
CREATE INDEX "create_keys_age" ON "platform"."create_keys" USING btree ("workspace_id","created_at");--> statement-breakpoint
CREATE INDEX "sandbox_transitions_connection" ON "platform"."sandbox_transitions" USING btree ("connection_id","id");--> statement-breakpoint
CREATE INDEX "held_reports_connection" ON "platform"."held_reports" USING btree ("connection_id","position");--> statement-breakpoint
CREATE INDEX "timers_due" ON "platform"."timers" USING btree ("due_at","id");--> statement-breakpoint
CREATE INDEX "deliveries_due" ON "platform"."deliveries" USING btree ("subscription_id","due_at","id") WHERE "platform"."deliveries"."due_at" is not null;--> statement-breakpoint
CREATE INDEX "deliveries_event" ON "platform"."deliveries" USING btree ("event_id");--> statement-breakpoint
CREATE INDEX "deliveries_subscription" ON "platform"."deliveries" USING btree ("subscription_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "ledger_seq" ON "platform"."ledger" USING btree ("seq") WHERE "platform"."ledger"."seq" is not null;--> statement-breakpoint
CREATE INDEX "ledger_unnumbered" ON "platform"."ledger" USING btree ("id") WHERE "platform"."ledger"."seq" is null;--> statement-breakpoint
CREATE INDEX "ledger_message" ON "platform"."ledger" USING btree ("message_id") WHERE "platform"."ledger"."message_id" is not null;--> statement-breakpoint
-- What follows is written by hand, because drizzle cannot express it.

-- The ledger's numbers begin at 1.
INSERT INTO "platform"."ledger_position" ("id", "last_seq") VALUES (1, 0);

-- Numbers up to "batch" committed events that have no number yet, in the order of their ids. Each statement
-- of a volatile function sees what was committed before it, so what is read after the row lock was taken
-- holds every number given before. Answers how many events were numbered.
-- A session keeps its plan from when the ledger was small. Nested loops over a backlog that came since take
-- minutes, so only the plan that fits both is left: a hash join of two index scans.
CREATE FUNCTION "platform"."number_ledger"(batch integer) RETURNS integer LANGUAGE plpgsql VOLATILE
  SET enable_nestloop = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
  top bigint;
  numbered integer;
BEGIN
  SELECT last_seq INTO STRICT top FROM platform.ledger_position WHERE id = 1 FOR UPDATE;
  WITH open AS (
    SELECT id FROM platform.ledger WHERE seq IS NULL ORDER BY id LIMIT batch
  ), given AS (
    SELECT id, row_number() OVER (ORDER BY id) AS place FROM open
  )
  UPDATE platform.ledger SET seq = top + given.place FROM given WHERE ledger.id = given.id;
  GET DIAGNOSTICS numbered = ROW_COUNT;
  UPDATE platform.ledger_position SET last_seq = top + numbered WHERE id = 1;
  RETURN numbered;
END
$$;
