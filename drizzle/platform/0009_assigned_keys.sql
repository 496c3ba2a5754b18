-- A key is assigned to a send that has none.
ALTER TABLE "platform"."given_keys" RENAME TO "assigned_keys";
--> statement-breakpoint
ALTER INDEX "platform"."given_keys_workspace_id_fingerprint_pk" RENAME TO "assigned_keys_workspace_id_fingerprint_pk";
--> statement-breakpoint
ALTER INDEX "platform"."given_keys_expiry" RENAME TO "assigned_keys_expiry";
