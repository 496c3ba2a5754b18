SELECT FROM connector.leases WHERE name = $1 AND fence = $2::bigint FOR SHARE
