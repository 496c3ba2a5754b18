ALTER TABLE "connector"."feed" ADD COLUMN "id" text DEFAULT left(md5(random()::text), 12) NOT NULL;--> statement-breakpoint
-- Keys that a CRM remembers stay what they are.
UPDATE "connector"."feed" f SET "id" = h.feed_id FROM "connector"."handover" h;--> statement-breakpoint
ALTER TABLE "connector"."handover" DROP COLUMN "feed_id";
