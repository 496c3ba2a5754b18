select "id",
    "kind",
    "due_at",
    "payload" from "platform"."timers" where "platform"."timers"."due_at" <= $1 order by "platform"."timers"."due_at",
    "platform"."timers"."id" limit $2
