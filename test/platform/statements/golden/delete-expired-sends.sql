delete from "platform"."sends" where "platform"."sends"."expires_at" <= $1
