SELECT cluster, above, missing, numbered, last_seq FROM connector.number_changes($1, $2, $3, $4::bigint[])
