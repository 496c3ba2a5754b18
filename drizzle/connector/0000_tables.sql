CREATE SCHEMA "connector";
--> statement-breakpoint
CREATE TYPE "connector"."message_status" AS ENUM('sent', 'delivered', 'read', 'failed');--> statement-breakpoint
CREATE TABLE "connector"."accounts" (
	"id" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"label" text,
	"base_url" text,
	"sealed_credential" text,
	"credential_digest" text,
	"credential_version" bigint DEFAULT 1 NOT NULL,
	"subscription_id" text NOT NULL,
	"created_at" bigint NOT NULL,
	CONSTRAINT "accounts_credential_digest_unique" UNIQUE("credential_digest")
);
--> statement-breakpoint
CREATE TABLE "connector"."connections" (
	"connection_id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"listed_at" bigint,
	"phone_number" text,
	"label" text,
	"provider" text,
	"tier" text,
	"status" text,
	"needs_reconnect" boolean,
	"license_valid" boolean,
	"license_status" text,
	"license_expires" bigint,
	"license_notice" text,
	"reason" text,
	"is_default" boolean,
	"profile_pic_url" text,
	"customer_ref" text,
	"visible" boolean DEFAULT true NOT NULL,
	"last_visible_at" bigint,
	"deleted_at" bigint,
	"last_event_at" bigint,
	"last_event_rank" smallint,
	"version" bigint DEFAULT 1 NOT NULL,
	"updated_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "connector"."leases" (
	"name" text PRIMARY KEY NOT NULL,
	"owner" text NOT NULL,
	"fence" bigint NOT NULL,
	"expires_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "connector"."subscriptions" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text,
	"is_first" boolean DEFAULT false NOT NULL,
	"sealed_secret" text,
	"sealed_configured_secret" text,
	"secret_version" bigint DEFAULT 0 NOT NULL,
	"sealed_previous_secret" text,
	"previous_max_timestamp" bigint,
	"previous_accept_until" bigint,
	"rotation_pending_owner" text,
	"rotation_pending_at" bigint,
	"rotation_call_at" bigint,
	"rotation_compromised" boolean DEFAULT false NOT NULL,
	"registered_url" text,
	"registered_at" bigint
);
--> statement-breakpoint
CREATE TABLE "connector"."creations" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"request_key" text,
	"label" text,
	"idempotency_key" text NOT NULL,
	"first_attempt_at" bigint,
	"unsettled" integer DEFAULT 0 NOT NULL,
	"connection_id" text,
	"slots_available" integer,
	"last_error" text,
	"next_attempt_at" bigint,
	"created_at" bigint NOT NULL,
	CONSTRAINT "creations_request" UNIQUE("account_id","request_key")
);
--> statement-breakpoint
CREATE TABLE "connector"."change_batches" (
	"id" bigint PRIMARY KEY NOT NULL,
	"size" integer NOT NULL,
	"told_at" bigint NOT NULL,
	"last_seq" bigint
);
--> statement-breakpoint
CREATE TABLE "connector"."changes" (
	"batch" bigint NOT NULL,
	"position" integer NOT NULL,
	"type" text NOT NULL,
	"at" bigint NOT NULL,
	"account_id" text NOT NULL,
	"connection_id" text NOT NULL,
	"message_id" text,
	"source" text NOT NULL,
	"via" text,
	"status" "connector"."message_status",
	"previous_status" "connector"."message_status",
	"direction" text,
	"peer" text,
	"text" text,
	"media_url" text,
	"media_type" text,
	"error_message" text,
	"created_at" bigint,
	"first_seen_by" text,
	"data" jsonb,
	CONSTRAINT "changes_pkey" PRIMARY KEY("batch","position")
);
--> statement-breakpoint
CREATE TABLE "connector"."feed" (
	"only" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"last_seq" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "connector"."dead_letters" (
	"seq" bigint PRIMARY KEY NOT NULL,
	"connection_id" text NOT NULL,
	"batch" bigint NOT NULL,
	"position" integer NOT NULL,
	"attempts" integer NOT NULL,
	"last_error" text NOT NULL,
	"at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "connector"."handover" (
	"only" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"feed_id" text NOT NULL,
	"cursor" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "connector"."handover_lanes" (
	"connection_id" text PRIMARY KEY NOT NULL,
	"waiting" integer NOT NULL,
	"set_aside" integer DEFAULT 0 NOT NULL,
	"due_at" bigint,
	"run_fence" bigint
);
--> statement-breakpoint
CREATE TABLE "connector"."handover_queue" (
	"connection_id" text NOT NULL,
	"seq" bigint NOT NULL,
	"batch" bigint NOT NULL,
	"position" integer NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "handover_queue_pkey" PRIMARY KEY("connection_id","seq")
);
--> statement-breakpoint
CREATE TABLE "connector"."messages" (
	"connection_id" text NOT NULL,
	"id" text NOT NULL,
	"account_id" text NOT NULL,
	"direction" text NOT NULL,
	"peer" text,
	"text" text,
	"media_url" text,
	"media_type" text,
	"status" "connector"."message_status",
	"error_message" text,
	"wa_message_id" text,
	"created_at" bigint NOT NULL,
	"first_seen_by" text NOT NULL,
	"first_seen_at" bigint NOT NULL,
	"polled" boolean NOT NULL,
	"previous_status" "connector"."message_status",
	"change_mask" smallint NOT NULL,
	"webhook_seen" smallint NOT NULL,
	"status_conflict" boolean NOT NULL,
	"updated_at" bigint NOT NULL,
	CONSTRAINT "messages_pkey" PRIMARY KEY("id","connection_id")
);
--> statement-breakpoint
CREATE TABLE "connector"."oauth_flows" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text,
	"label" text,
	"return_url" text,
	"sealed_verifier" text NOT NULL,
	"created_at" bigint NOT NULL,
	"expires_at" bigint NOT NULL,
	"used_at" bigint,
	"outcome" text
);
--> statement-breakpoint
CREATE TABLE "connector"."oauth_grants" (
	"account_id" text PRIMARY KEY NOT NULL,
	"scope" text,
	"version" bigint DEFAULT 1 NOT NULL,
	"sealed_access_token" text NOT NULL,
	"sealed_refresh_token" text,
	"access_expires_at" bigint,
	"refreshed_at" bigint NOT NULL,
	"refresh_owner" text,
	"refresh_until" bigint,
	"failures" integer DEFAULT 0 NOT NULL,
	"last_error_code" text,
	"not_before" bigint,
	"ended_at" bigint,
	"ended_reason" text
);
--> statement-breakpoint
CREATE TABLE "connector"."outbound" (
	"id" text PRIMARY KEY NOT NULL,
	"position" bigint GENERATED ALWAYS AS IDENTITY (sequence name "connector"."outbound_position_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" text NOT NULL,
	"connection_id" text NOT NULL,
	"reference" text NOT NULL,
	"fingerprint" text NOT NULL,
	"recipient" text NOT NULL,
	"text" text,
	"media_filename" text,
	"media_mimetype" text,
	"media_caption" text,
	"media_fingerprint" text,
	"idempotency_key" text NOT NULL,
	"state" text NOT NULL,
	"message_id" text,
	"attempts" integer DEFAULT 0 NOT NULL,
	"attempt_id" text,
	"first_attempt_at" bigint,
	"last_attempt_at" bigint,
	"lost_at" bigint,
	"in_doubt" boolean DEFAULT false NOT NULL,
	"last_error" text,
	"next_attempt_at" bigint,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL,
	CONSTRAINT "outbound_reference" UNIQUE("account_id","reference")
);
--> statement-breakpoint
CREATE TABLE "connector"."outbound_media" (
	"outbound_id" text PRIMARY KEY NOT NULL,
	"bytes" "bytea" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "connector"."senders" (
	"owner" text PRIMARY KEY NOT NULL,
	"expires_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "connector"."quotas" (
	"account_id" text PRIMARY KEY NOT NULL,
	"slots_total" integer NOT NULL,
	"slots_used" integer NOT NULL,
	"slots_available" integer NOT NULL,
	"next_expiry" bigint,
	"connections_total" integer NOT NULL,
	"connections_connected" integer NOT NULL,
	"connections_need_reconnect" integer NOT NULL,
	"read_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "connector"."coverage" (
	"account_id" text PRIMARY KEY NOT NULL,
	"watermark" bigint,
	"listed_watermark" bigint,
	"listed_at" bigint
);
--> statement-breakpoint
CREATE TABLE "connector"."gaps" (
	"account_id" text NOT NULL,
	"kind" text NOT NULL,
	"slot" text NOT NULL,
	"top" bigint,
	"floor" bigint,
	"cursor" text,
	"next_top" bigint,
	"restarts" integer NOT NULL,
	"opened_at" bigint NOT NULL,
	CONSTRAINT "gaps_pkey" PRIMARY KEY("account_id","kind","slot")
);
--> statement-breakpoint
CREATE TABLE "connector"."poll_states" (
	"account_id" text PRIMARY KEY NOT NULL,
	"last_started_at" bigint,
	"last_good_at" bigint,
	"last_good_reference" bigint,
	"failures" integer DEFAULT 0 NOT NULL,
	"last_error_code" text,
	"last_error_at" bigint,
	"not_before" bigint,
	"asked_to_wait" boolean DEFAULT false NOT NULL,
	"refused_credential_version" bigint,
	"needs_full_sweep" boolean DEFAULT true NOT NULL,
	"unresolved" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "connector"."repair_totals" (
	"connection_id" text PRIMARY KEY NOT NULL,
	"account_id" text NOT NULL,
	"messages" bigint NOT NULL,
	"statuses" bigint NOT NULL,
	"last_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "connector"."repairs" (
	"connection_id" text NOT NULL,
	"message_id" text NOT NULL,
	"what" smallint NOT NULL,
	"account_id" text NOT NULL,
	"observed_at" bigint NOT NULL,
	CONSTRAINT "repairs_pkey" PRIMARY KEY("connection_id","message_id","what")
);
--> statement-breakpoint
CREATE TABLE "connector"."sweeps" (
	"account_id" text NOT NULL,
	"horizon" text NOT NULL,
	"last_at" bigint NOT NULL,
	"last_reference" bigint NOT NULL,
	CONSTRAINT "sweeps_pkey" PRIMARY KEY("account_id","horizon")
);
--> statement-breakpoint
CREATE TABLE "connector"."receiver_tallies" (
	"hour" bigint NOT NULL,
	"subscription_id" text NOT NULL,
	"kind" text NOT NULL,
	"count" bigint NOT NULL,
	"last_at" bigint NOT NULL,
	"total_ms" bigint NOT NULL,
	"least_ms" bigint NOT NULL,
	"most_ms" bigint NOT NULL,
	CONSTRAINT "receiver_tallies_pkey" PRIMARY KEY("hour","subscription_id","kind")
);
--> statement-breakpoint
ALTER TABLE "connector"."outbound_media" ADD CONSTRAINT "outbound_media_outbound_id_outbound_id_fk" FOREIGN KEY ("outbound_id") REFERENCES "connector"."outbound"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "accounts_subscription" ON "connector"."accounts" USING btree ("subscription_id");--> statement-breakpoint
CREATE INDEX "connections_account" ON "connector"."connections" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX "creations_due" ON "connector"."creations" USING btree ("next_attempt_at") WHERE "connector"."creations"."next_attempt_at" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "change_batches_seq" ON "connector"."change_batches" USING btree ("last_seq") WHERE "connector"."change_batches"."last_seq" is not null;--> statement-breakpoint
CREATE INDEX "change_batches_told" ON "connector"."change_batches" USING btree ("told_at");--> statement-breakpoint
CREATE INDEX "change_batches_unnumbered" ON "connector"."change_batches" USING btree ("id") WHERE "connector"."change_batches"."last_seq" is null;--> statement-breakpoint
CREATE INDEX "changes_message" ON "connector"."changes" USING btree ("message_id") WHERE "connector"."changes"."message_id" is not null and "connector"."changes"."type" <> 'message.created' and ("connector"."changes"."via" is not null or "connector"."changes"."source" <> 'webhook');--> statement-breakpoint
CREATE INDEX "changes_outbound" ON "connector"."changes" USING btree (("data" ->> 'id')) WHERE "connector"."changes"."type" = 'outbound.updated';--> statement-breakpoint
CREATE INDEX "messages_newest" ON "connector"."messages" USING btree ("connection_id","direction","created_at" DESC NULLS FIRST);--> statement-breakpoint
CREATE INDEX "messages_peer" ON "connector"."messages" USING btree ("connection_id","peer","created_at" DESC NULLS FIRST) WHERE "connector"."messages"."peer" is not null;--> statement-breakpoint
CREATE INDEX "oauth_flows_expires" ON "connector"."oauth_flows" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "outbound_lane" ON "connector"."outbound" USING btree ("connection_id","position") WHERE "connector"."outbound"."state" in ('queued', 'sending');--> statement-breakpoint
CREATE INDEX "outbound_message" ON "connector"."outbound" USING btree ("connection_id","message_id") WHERE "connector"."outbound"."message_id" is not null;--> statement-breakpoint
CREATE INDEX "outbound_newest" ON "connector"."outbound" USING btree ("created_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);--> statement-breakpoint
CREATE INDEX "outbound_newest_of_connection" ON "connector"."outbound" USING btree ("connection_id","created_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);--> statement-breakpoint
CREATE INDEX "outbound_newest_of_account" ON "connector"."outbound" USING btree ("account_id","created_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);--> statement-breakpoint
CREATE INDEX "outbound_newest_of_state" ON "connector"."outbound" USING btree ("state","created_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);--> statement-breakpoint
CREATE INDEX "repairs_due" ON "connector"."repairs" USING btree ("account_id","observed_at");