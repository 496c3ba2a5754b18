select "id",
    "workspace_id",
    "connection_id",
    "message_id",
    "event",
    "status",
    "at",
    "body",
    "app_ids" from "platform"."ledger" where "platform"."ledger"."id" = any($1)
