ALTER TABLE "connector"."consumer_places" ADD COLUMN "id" bigint NOT NULL GENERATED ALWAYS AS IDENTITY (sequence name "connector"."consumer_places_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1);--> statement-breakpoint
ALTER TABLE "connector"."consumer_places" DROP CONSTRAINT "consumer_places_pkey";
--> statement-breakpoint
ALTER TABLE "connector"."consumer_places" ADD CONSTRAINT "consumer_places_pkey" PRIMARY KEY("consumer","partition","id");