update "platform"."deliveries" set "outcome" = $1,
    "reason" = $2,
    "due_at" = $3,
    "held" = $4 where "platform"."deliveries"."outcome" = $5 returning "id"
