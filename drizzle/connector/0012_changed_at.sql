-- The name says what happened at that time.
ALTER TABLE "connector"."change_batches" RENAME COLUMN "told_at" TO "changed_at";
--> statement-breakpoint
ALTER INDEX "connector"."change_batches_told" RENAME TO "change_batches_changed_at";
