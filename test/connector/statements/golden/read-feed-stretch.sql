SELECT feed.last_seq, (SELECT b.last_seq FROM connector.change_batches b
              WHERE next.last_seq IS NOT NULL
                AND b.last_seq <= greatest($1::bigint + 10000, next.last_seq)
              ORDER BY b.last_seq DESC LIMIT 1) AS upto
       FROM connector.last_seq() AS feed (last_seq)
       LEFT JOIN (SELECT b.last_seq FROM connector.change_batches b
                   WHERE b.last_seq > $1::bigint ORDER BY b.last_seq LIMIT 1) next ON true
