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
