CREATE SCHEMA "connector";
--> statement-breakpoint
CREATE TYPE "connector"."message_status" AS ENUM('sent', 'delivered', 'read', 'failed');--> statement-breakpoint
CREATE TABLE "connector"."accounts" (
	"id" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"label" text,
	"reference" text,
	"base_url" text,
	"network" text,
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
	"history_until" bigint,
	"history_from" bigint,
	"phone_number" text,
	"label" text,
	"provider" text,
	"tier" text,
	"status" text,
	"needs_reconnect" boolean,
	"license_valid" boolean,
	"license_status" text,
	"license_expires" bigint,
	"reason" text,
	"is_default" boolean,
	"profile_pic_url" text,
	"customer_ref" text,
	"visible" boolean DEFAULT true NOT NULL,
	"last_visible_at" bigint,
	"deleted_at" bigint,
	"last_event_at" bigint,
	"last_event_rank" smallint,
	"webhook_at" bigint,
	"version" bigint DEFAULT 1 NOT NULL,
	"updated_at" bigint NOT NULL
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
CREATE TABLE "connector"."oauth_flows" (
	"id" text PRIMARY KEY NOT NULL,
	"start_id" text,
	"browser" text,
	"account_id" text,
	"label" text,
	"reference" text,
	"return_url" text,
	"sealed_verifier" text NOT NULL,
	"sealed_authorization_url" text,
	"created_at" bigint NOT NULL,
	"expires_at" bigint NOT NULL,
	"used_at" bigint,
	"outcome" text,
	CONSTRAINT "oauth_flows_start_id_unique" UNIQUE("start_id")
);
--> statement-breakpoint
CREATE TABLE "connector"."oauth_grants" (
	"account_id" text PRIMARY KEY NOT NULL,
	"scope" text,
	"version" bigint DEFAULT 1 NOT NULL,
	"sealed_access_token" text NOT NULL,
	"sealed_refresh_token" text,
	"access_expires_at" bigint NOT NULL,
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
CREATE TABLE "connector"."subscriptions" (
	"id" text PRIMARY KEY NOT NULL,
	"account_id" text,
	"sealed_secret" text,
	"sealed_configured_secret" text,
	"accepted_app" text,
	"secret_version" bigint DEFAULT 0 NOT NULL,
	"sealed_previous_secret" text,
	"previous_max_timestamp" bigint,
	"previous_accept_until" bigint,
	"rotation_pending_owner" text,
	"rotation_pending_at" bigint,
	"rotation_call_at" bigint,
	"rotation_compromised" boolean DEFAULT false NOT NULL,
	"registered_url" text,
	"registered_at" bigint,
	"register_due_at" bigint,
	"register_failures" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "connector"."consumer_places" (
	"consumer" text NOT NULL,
	"partition" integer NOT NULL,
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "connector"."consumer_places_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"place" bigint NOT NULL,
	"open" boolean DEFAULT false NOT NULL,
	CONSTRAINT "consumer_places_pkey" PRIMARY KEY("consumer","partition","id")
);
--> statement-breakpoint
CREATE TABLE "connector"."consumers" (
	"name" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"state" text DEFAULT 'running' NOT NULL,
	"disabled_reason" text,
	"unavailable_since" bigint,
	"unavailable_reason" text,
	"filter" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"historic" text DEFAULT 'quiet' NOT NULL,
	"batch" integer DEFAULT 1 NOT NULL,
	"concurrency" integer DEFAULT 50 NOT NULL,
	"attempts" integer DEFAULT 12 NOT NULL,
	"deadline_ms" integer DEFAULT 30000 NOT NULL,
	"place_changes" integer DEFAULT 500 NOT NULL,
	"place_ms" integer DEFAULT 500 NOT NULL,
	"settings" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"sealed_secret" text,
	"sealed_previous_secret" text,
	"previous_until" bigint,
	"sealed_redis_url" text,
	"version" bigint DEFAULT 1 NOT NULL,
	"created_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "connector"."dead_letters" (
	"consumer" text NOT NULL,
	"seq" bigint NOT NULL,
	"connection_id" text NOT NULL,
	"message_id" text,
	"attempts" integer NOT NULL,
	"last_error" text NOT NULL,
	"at" bigint NOT NULL,
	CONSTRAINT "dead_letters_pkey" PRIMARY KEY("consumer","seq")
);
--> statement-breakpoint
CREATE TABLE "connector"."parked" (
	"consumer" text NOT NULL,
	"key" text NOT NULL,
	"partition" integer NOT NULL,
	"connection_id" text NOT NULL,
	"seq" bigint NOT NULL,
	"due_at" bigint NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"last_error" text,
	"since" bigint NOT NULL,
	"revision" integer DEFAULT 1 NOT NULL,
	CONSTRAINT "parked_pkey" PRIMARY KEY("consumer","key")
);
--> statement-breakpoint
CREATE TABLE "connector"."parked_entries" (
	"consumer" text NOT NULL,
	"key" text NOT NULL,
	"seq" bigint NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "parked_entries_pkey" PRIMARY KEY("consumer","key","seq")
);
--> statement-breakpoint
CREATE TABLE "connector"."change_batches" (
	"id" bigint PRIMARY KEY NOT NULL,
	"size" integer NOT NULL,
	"changed_at" bigint NOT NULL,
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
	"reference" text,
	"media_copy" jsonb,
	"origin" text,
	"created_at" bigint,
	"first_seen_by" text,
	"historic" boolean,
	"data" jsonb,
	CONSTRAINT "changes_pkey" PRIMARY KEY("batch","position","at")
) PARTITION BY RANGE ("at");
--> statement-breakpoint
CREATE TABLE "connector"."expired_messages" (
	"id" text NOT NULL,
	"connection_id" text NOT NULL,
	CONSTRAINT "expired_messages_pkey" PRIMARY KEY("id","connection_id")
);
--> statement-breakpoint
CREATE TABLE "connector"."feed" (
	"only" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"id" text DEFAULT left(md5(random()::text), 12) NOT NULL,
	"base_seq" bigint NOT NULL,
	"deleted_seq" bigint DEFAULT 0 NOT NULL,
	"messages_from" bigint DEFAULT 0 NOT NULL,
	"cluster" text
);
--> statement-breakpoint
CREATE TABLE "connector"."media_keeping" (
	"only" boolean PRIMARY KEY DEFAULT true NOT NULL
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
	"error_message" text,
	"reference" text,
	"peer_named" boolean DEFAULT false NOT NULL,
	"media_copy" jsonb,
	"media_due_at" bigint,
	"status" "connector"."message_status",
	"wa_message_id" text,
	"origin" text,
	"historic" boolean DEFAULT false NOT NULL,
	"erased" boolean DEFAULT false NOT NULL,
	"expired" boolean DEFAULT false NOT NULL,
	"created_at" bigint NOT NULL,
	"first_seen_by" text NOT NULL,
	"first_seen_at" bigint NOT NULL,
	"filed_at" bigint DEFAULT 0 NOT NULL,
	"polled" boolean NOT NULL,
	"previous_status" "connector"."message_status",
	"change_mask" smallint NOT NULL,
	"webhook_seen" smallint NOT NULL,
	"status_conflict" boolean NOT NULL,
	"webhook_at" bigint,
	CONSTRAINT "messages_pkey" PRIMARY KEY("id","connection_id","filed_at")
) PARTITION BY LIST ("filed_at");
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
	"in_doubt" boolean DEFAULT false NOT NULL,
	"last_error" text,
	"next_attempt_at" bigint,
	"awaits_service" boolean DEFAULT false NOT NULL,
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
CREATE TABLE "connector"."answers" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "connector"."answers_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"at" bigint NOT NULL,
	"ms" bigint NOT NULL,
	"subscription_id" text NOT NULL,
	"refusal" text,
	"event" text,
	"connection_id" text,
	"message_id" text
);
--> statement-breakpoint
CREATE TABLE "connector"."leases" (
	"name" text PRIMARY KEY NOT NULL,
	"owner" text NOT NULL,
	"fence" bigint GENERATED ALWAYS AS IDENTITY (sequence name "connector"."leases_fence_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1)
);
--> statement-breakpoint
CREATE TABLE "connector"."processes" (
	"id" text PRIMARY KEY NOT NULL,
	"host" text NOT NULL,
	"works" boolean NOT NULL,
	"handles" boolean DEFAULT false NOT NULL,
	"beats" bigint DEFAULT 0 NOT NULL,
	"started_at" bigint NOT NULL,
	"beat_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "connector"."receiver_tallies" (
	"hour" bigint NOT NULL,
	"subscription_id" text NOT NULL,
	"kind" text NOT NULL,
	"count" bigint NOT NULL,
	"last_at" bigint NOT NULL,
	"total_ms" bigint NOT NULL,
	"min_ms" bigint NOT NULL,
	"max_ms" bigint NOT NULL,
	CONSTRAINT "receiver_tallies_pkey" PRIMARY KEY("hour","subscription_id","kind")
);
--> statement-breakpoint
CREATE TABLE "connector"."statistics" (
	"step" bigint NOT NULL,
	"slot" bigint NOT NULL,
	"series" text NOT NULL,
	"value" double precision NOT NULL,
	CONSTRAINT "statistics_pkey" PRIMARY KEY("step","slot","series")
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
	"due_at" bigint,
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
ALTER TABLE "connector"."outbound_media" ADD CONSTRAINT "outbound_media_outbound_id_outbound_id_fk" FOREIGN KEY ("outbound_id") REFERENCES "connector"."outbound"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "accounts_subscription" ON "connector"."accounts" USING btree ("subscription_id");--> statement-breakpoint
CREATE INDEX "connections_account" ON "connector"."connections" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX "connections_unlisted" ON "connector"."connections" USING btree ("connection_id") WHERE "connector"."connections"."listed_at" is null;--> statement-breakpoint
CREATE INDEX "creations_due" ON "connector"."creations" USING btree ("next_attempt_at") WHERE "connector"."creations"."next_attempt_at" is not null;--> statement-breakpoint
CREATE INDEX "oauth_flows_expires" ON "connector"."oauth_flows" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "dead_letters_message" ON "connector"."dead_letters" USING btree ("message_id") WHERE "connector"."dead_letters"."message_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "change_batches_seq" ON "connector"."change_batches" USING btree ("last_seq") WHERE "connector"."change_batches"."last_seq" is not null;--> statement-breakpoint
CREATE INDEX "change_batches_changed_at" ON "connector"."change_batches" USING btree ("changed_at");--> statement-breakpoint
CREATE INDEX "change_batches_unnumbered" ON "connector"."change_batches" USING btree ("id") WHERE "connector"."change_batches"."last_seq" is null;--> statement-breakpoint
CREATE INDEX "changes_message" ON "connector"."changes" USING btree ("message_id") WHERE "connector"."changes"."message_id" is not null and "connector"."changes"."type" <> 'message.created' and ("connector"."changes"."via" is not null or "connector"."changes"."source" <> 'webhook');--> statement-breakpoint
CREATE INDEX "changes_outbound" ON "connector"."changes" USING btree (("data" ->> 'id')) WHERE "connector"."changes"."type" = 'outbound.updated';--> statement-breakpoint
CREATE INDEX "messages_newest" ON "connector"."messages" USING btree ("connection_id","direction","created_at" DESC NULLS FIRST) WHERE not "connector"."messages"."erased";--> statement-breakpoint
CREATE INDEX "messages_peer" ON "connector"."messages" USING btree ("connection_id","peer","created_at" DESC NULLS FIRST) WHERE "connector"."messages"."peer" is not null;--> statement-breakpoint
CREATE INDEX "messages_unknown_sender" ON "connector"."messages" USING btree ("connection_id","created_at" DESC NULLS FIRST) WHERE "connector"."messages"."peer" is null and "connector"."messages"."direction" = 'incoming' and not "connector"."messages"."erased";--> statement-breakpoint
CREATE INDEX "messages_erased" ON "connector"."messages" USING btree ("connection_id","id") WHERE "connector"."messages"."erased" and not "connector"."messages"."expired";--> statement-breakpoint
CREATE INDEX "messages_unknown_origin" ON "connector"."messages" USING btree ("connection_id") WHERE "connector"."messages"."origin" = 'unknown';--> statement-breakpoint
CREATE INDEX "messages_media_waits" ON "connector"."messages" USING btree ("media_due_at" NULLS FIRST,"first_seen_at") WHERE media_copy ->> 'state' IN ('pending', 'removing');--> statement-breakpoint
CREATE INDEX "messages_conflicts" ON "connector"."messages" USING btree ("connection_id","created_at") WHERE "connector"."messages"."status_conflict";--> statement-breakpoint
CREATE INDEX "outbound_queue" ON "connector"."outbound" USING btree ("connection_id","position") WHERE "connector"."outbound"."state" in ('queued', 'sending');--> statement-breakpoint
CREATE INDEX "outbound_unfinished" ON "connector"."outbound" USING btree ("state","position") WHERE "connector"."outbound"."state" in ('queued', 'sending');--> statement-breakpoint
CREATE INDEX "outbound_unanswered" ON "connector"."outbound" USING btree ("connection_id") WHERE "connector"."outbound"."in_doubt" or "connector"."outbound"."state" = 'sending';--> statement-breakpoint
CREATE INDEX "outbound_message" ON "connector"."outbound" USING btree ("connection_id","message_id") WHERE "connector"."outbound"."message_id" is not null;--> statement-breakpoint
CREATE INDEX "outbound_newest" ON "connector"."outbound" USING btree ("created_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);--> statement-breakpoint
CREATE INDEX "outbound_newest_of_connection" ON "connector"."outbound" USING btree ("connection_id","created_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);--> statement-breakpoint
CREATE INDEX "outbound_newest_of_account" ON "connector"."outbound" USING btree ("account_id","created_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);--> statement-breakpoint
CREATE INDEX "outbound_newest_of_state" ON "connector"."outbound" USING btree ("state","created_at" DESC NULLS FIRST,"id" DESC NULLS FIRST);--> statement-breakpoint
CREATE INDEX "repairs_due" ON "connector"."repairs" USING btree ("account_id","observed_at");--> statement-breakpoint
-- What follows is written by hand, because drizzle cannot express it, and so is that "changes" and "messages" are
-- partitioned.

CREATE TABLE "connector"."changes_default" PARTITION OF "connector"."changes" DEFAULT;

-- Room on each page for the status updates of a message to stay on it. The default partition is for rows that are
-- restored after their period was dropped. The other one is renamed when a second period begins: see
-- src/connector/db/message-periods.ts.
CREATE TABLE "connector"."messages_undivided" PARTITION OF "connector"."messages" FOR VALUES IN (0) WITH (fillfactor = 80);
CREATE TABLE "connector"."messages_default" PARTITION OF "connector"."messages" DEFAULT;

-- Statistics would say that a partition has one row, so that all its dead ones are read to sort it: many, while a backup
-- holds a snapshot. Without them, the newest row is found by the index.
ALTER TABLE "connector"."consumer_places" SET (autovacuum_analyze_threshold = 2147483647);

-- The raw log of verified deliveries: append-only, no unique key, one partition for each UTC day.
-- Days are made ahead by the connector; what falls outside of them goes to the default partition.
CREATE SEQUENCE "connector"."inbox_id" AS bigint CACHE 1;
CREATE TABLE "connector"."inbox" (
	"received_at" bigint NOT NULL,
	"id" bigint DEFAULT nextval('"connector"."inbox_id"') NOT NULL,
	"subscription_id" text NOT NULL,
	"account_id" text NOT NULL,
	"signed_at" bigint NOT NULL,
	"body" bytea NOT NULL,
	"event" text,
	"connection_id" text,
	"message_id" text,
	"outcome" text NOT NULL,
	"reason" text,
	"change_mask" smallint NOT NULL,
	"change_batch" bigint,
	"secret_version" integer
) PARTITION BY RANGE ("received_at");
CREATE TABLE "connector"."inbox_default" PARTITION OF "connector"."inbox" DEFAULT;
-- The deliveries of a message, day by day: those that changed something, then the others in their order. The only
-- index of the log.
CREATE INDEX "inbox_message" ON "connector"."inbox" ("message_id", "change_batch", "received_at")
  WHERE "message_id" IS NOT NULL;

INSERT INTO "connector"."feed" ("only", "base_seq") VALUES (true, 0);

-- Orders batches of changes: taken once every row is locked that a batch changed. One process must not set
-- numbers aside for later.
CREATE SEQUENCE "connector"."change_batch_id" AS bigint CACHE 1;

-- Ends a statement that lost a race as a serialization failure does: repeating it succeeds.
CREATE FUNCTION "connector"."fail_for_retry"() RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'two statements made a connection at once' USING ERRCODE = '40001';
END
$$;

-- The database that runs this: system identifier, OID and timeline. A promotion and a recovery to a point in time begin
-- a timeline; a restored dump is in another database. Null where the server does not tell.
CREATE FUNCTION "connector"."present_cluster"() RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT s.system_identifier FROM pg_control_system() s)
    || '/' || (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
    || '/' || ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint;
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END
$$;

-- How far numbers jump from one database to another; null if one of them is unknown. Later timelines of a server may
-- each have given numbers of their own, so each has its own range. Other databases have no order: which of 1,024 ranges
-- they use depends on both identities, so that two copies of one database are unlikely to give the same numbers.
CREATE FUNCTION "connector"."cluster_jump"(before text, present text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS $$
  SELECT 4294967296 * CASE
    WHEN before = present THEN 0
    WHEN regexp_replace(before, '/\d+$', '') = regexp_replace(present, '/\d+$', '')
      THEN greatest(1, split_part(present, '/', 3)::bigint - split_part(before, '/', 3)::bigint)
    ELSE 1 + (hashtext(before || ' ' || present)::bigint & 1023)
  END
$$;

-- The last number is that of the newest numbered batch, so the row of the feed is not written with each numbering.
CREATE FUNCTION "connector"."last_seq"() RETURNS bigint LANGUAGE plpgsql STABLE AS $$
-- Not "sql": that would be planned with each call.
BEGIN
  RETURN greatest(
    (SELECT f.base_seq FROM connector.feed f),
    (SELECT b.last_seq FROM connector.change_batches b WHERE b.last_seq IS NOT NULL ORDER BY b.last_seq DESC LIMIT 1));
END
$$;

-- Gives up to "most" committed batches of changes their numbers, in the order of "id". They are consecutive, except
-- that they jump when the database is no longer the one that gave the last number: the numbers after that one may have
-- been given, read, and lost.
-- The advisory lock is held to the commit, so one session numbers at a time. Each statement inside sees what was
-- committed before it began, so batches are read under the lock.
--
-- "cluster", "above" and "missing" are what the caller knows from its last call: in this database, every batch up to
-- "above" has a number, except those in "missing", which were not committed yet. So only newer batches are read. An
-- index of those without a number would be long while somebody holds a snapshot: it keeps an entry for each batch that
-- was ever without one. Null for "above" means that nothing is known: then the oldest without a number is looked for,
-- before the lock is taken.
--
-- The planner believes that few batches wait, since mostly none do, and would join them in a nested loop: a
-- backlog would take the square of its length. The settings leave it the plans that are linear.
CREATE FUNCTION "connector"."number_changes"(
  most integer, INOUT cluster text, INOUT above bigint, INOUT missing bigint[], OUT numbered integer, OUT last_seq bigint)
LANGUAGE plpgsql SET enable_nestloop = off SET enable_seqscan = off AS $$
DECLARE
  -- Ids that were taken before these many others are not expected to be committed any more.
  recent constant bigint := 1000;
  before text;
  present text := connector.present_cluster();
  ids bigint[];
  ends bigint[];
  upto bigint;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'changes are numbered in transactions that are read committed, but this one is %',
      current_setting('transaction_isolation');
  END IF;
  IF cluster IS DISTINCT FROM present THEN
    above := NULL;
    missing := NULL;
  END IF;
  IF above IS NULL THEN
    SELECT b.id - recent INTO above FROM connector.change_batches b ORDER BY b.id DESC LIMIT 1;
    above := greatest(0, least(above, (SELECT u.id - 1 FROM connector.change_batches u
                                        WHERE u.last_seq IS NULL ORDER BY u.id LIMIT 1)));
  END IF;
  cluster := present;
  PERFORM pg_advisory_xact_lock(7204117);
  SELECT f.cluster, connector.last_seq() INTO STRICT before, last_seq FROM connector.feed f;
  IF before IS DISTINCT FROM coalesce(present, before) THEN
    last_seq := last_seq + coalesce(connector.cluster_jump(before, present), 0);
    UPDATE connector.feed f SET base_seq = number_changes.last_seq, cluster = present;
  END IF;
  WITH page AS MATERIALIZED (
    SELECT w.id, w.size FROM (
      (SELECT u.id, u.size FROM connector.change_batches u
        WHERE u.last_seq IS NULL AND u.id > number_changes.above ORDER BY u.id LIMIT most)
      UNION ALL
      SELECT u.id, u.size FROM connector.change_batches u
       WHERE u.last_seq IS NULL AND u.id = ANY (missing) AND u.id <= number_changes.above) w
     ORDER BY w.id LIMIT most
  )
  SELECT array_agg(p.id ORDER BY p.id), array_agg(p.reached ORDER BY p.id),
         greatest(number_changes.above, CASE WHEN count(*) < most
           THEN (SELECT b.id FROM connector.change_batches b ORDER BY b.id DESC LIMIT 1) ELSE max(p.id) END)
    INTO ids, ends, upto
    FROM (SELECT n.id, number_changes.last_seq + sum(n.size) OVER (ORDER BY n.id) AS reached FROM page n) p;
  numbered := coalesce(cardinality(ids), 0);
  IF numbered > 0 THEN
    UPDATE connector.change_batches b SET last_seq = g.reached
      FROM unnest(ids, ends) AS g (id, reached)
     WHERE b.id = g.id AND b.id = ANY (ids) AND b.last_seq IS NULL;
    last_seq := ends[numbered];
  END IF;
  above := greatest(above, upto - recent);
  -- This statement sees what was committed since the page was read, so a batch is only found if it has its number.
  missing := ARRAY(
    SELECT unnest(missing) UNION SELECT generate_series(number_changes.above + 1, upto)
    EXCEPT SELECT b.id FROM connector.change_batches b
            WHERE b.id > number_changes.above AND b.id <= upto AND b.last_seq IS NOT NULL
    EXCEPT SELECT b.id FROM connector.change_batches b WHERE b.id = ANY (missing) AND b.last_seq IS NOT NULL);
  above := upto;
END
$$;
