select "answer",
    "message_hash" from "platform"."sends" where ("platform"."sends"."workspace_id" = $1 and "platform"."sends"."key_hash" = $2 and "platform"."sends"."expires_at" > $3)
