CREATE TABLE "connector"."named_settings" (
	"subject" text NOT NULL,
	"digest" text NOT NULL,
	"accepted_at" bigint,
	"named_at" bigint NOT NULL,
	CONSTRAINT "named_settings_subject_digest_pk" PRIMARY KEY("subject","digest")
);
