WITH held AS MATERIALIZED (
  SELECT g.* FROM unnest($2::integer[], $3::text[], $4::bigint[], $5::bigint[], $6::boolean[])
         AS g (partition, lease, fence, place, open)
   WHERE EXISTS (SELECT FROM connector.leases WHERE name = g.lease AND fence = g.fence::bigint FOR SHARE)
),
moved AS (
  UPDATE connector.consumer_places p SET place = h.place, open = h.open
    FROM held h WHERE p.consumer = $1 AND p.partition = h.partition
),
entered AS (
  INSERT INTO connector.parked_entries (consumer, key, seq, attempts)
  SELECT $1, e.key, e.seq, e.attempts
    FROM unnest($7::integer[], $8::text[], $9::bigint[], $10::integer[]) AS e (partition, key, seq, attempts)
    JOIN held USING (partition)
  ON CONFLICT DO NOTHING
),
done AS (
  DELETE FROM connector.parked_entries p
   USING unnest($11::integer[], $12::text[], $13::bigint[]) AS e (partition, key, seq) JOIN held USING (partition)
   WHERE p.consumer = $1 AND p.key = e.key AND p.seq = e.seq
),
ended AS (
  DELETE FROM connector.parked p
   USING unnest($14::integer[], $15::text[], $16::integer[]) AS e (partition, key, revision) JOIN held USING (partition)
   WHERE p.consumer = $1 AND p.key = e.key AND p.revision = e.revision
  RETURNING p.key
),
written AS (
  INSERT INTO connector.parked AS p
         (consumer, partition, key, connection_id, seq, due_at, attempts, last_error, since, revision)
  SELECT $1, r.* FROM unnest($17::integer[], $18::text[], $19::text[], $20::bigint[], $21::bigint[], $22::integer[],
                             $23::text[], $24::bigint[], $25::integer[])
         AS r (partition, key, connection_id, seq, due_at, attempts, last_error, since, revision)
    JOIN held USING (partition)
  ON CONFLICT (consumer, key) DO UPDATE
    SET seq = excluded.seq, due_at = excluded.due_at, attempts = excluded.attempts, last_error = excluded.last_error,
        since = excluded.since, revision = excluded.revision
    WHERE p.revision = excluded.revision - 1
  RETURNING p.key, p.revision
),
letters AS (
  INSERT INTO connector.dead_letters AS d (consumer, seq, connection_id, attempts, last_error, at)
  SELECT $1, l.seq, l.connection_id, l.attempts, l.last_error, $31::bigint
    FROM unnest($26::integer[], $27::bigint[], $28::text[], $29::integer[], $30::text[])
         AS l (partition, seq, connection_id, attempts, last_error) JOIN held USING (partition)
  ON CONFLICT (consumer, seq) DO UPDATE
    SET attempts = excluded.attempts, last_error = excluded.last_error, at = excluded.at
)
SELECT ARRAY(SELECT h.partition FROM held h) AS held, ARRAY(SELECT e.key FROM ended e) AS ended,
       ARRAY(SELECT to_json(w) FROM written w) AS written
