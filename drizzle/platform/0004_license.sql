-- One spelling, that of the wire.
ALTER TABLE "platform"."licences" RENAME TO "licenses";
--> statement-breakpoint
ALTER INDEX "platform"."licences_pkey" RENAME TO "licenses_pkey";
--> statement-breakpoint
ALTER INDEX "platform"."licences_workspace" RENAME TO "licenses_workspace";
--> statement-breakpoint
ALTER INDEX "platform"."licences_connection" RENAME TO "licenses_connection";
--> statement-breakpoint
ALTER TABLE "platform"."licenses" RENAME CONSTRAINT "licences_workspace_id_workspaces_id_fk" TO "licenses_workspace_id_workspaces_id_fk";
--> statement-breakpoint
ALTER TABLE "platform"."licenses" RENAME CONSTRAINT "licences_connection_id_connections_id_fk" TO "licenses_connection_id_connections_id_fk";
