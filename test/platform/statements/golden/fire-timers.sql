delete from "platform"."timers" where "platform"."timers"."id" = any($1) returning "id"
