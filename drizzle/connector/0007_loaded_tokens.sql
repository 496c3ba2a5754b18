CREATE TABLE "connector"."loaded_tokens" (
	"id" text PRIMARY KEY NOT NULL,
	"sealed_tokens" text,
	"loaded_at" bigint NOT NULL
);
