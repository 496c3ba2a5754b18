WITH held AS MATERIALIZED (
  SELECT g.* FROM json_to_recordset($2) AS g (partition integer,
      lease text,
      fence bigint,
      "placeId" bigint,
      place bigint,
                                              open boolean)
   WHERE EXISTS (SELECT FROM connector.leases WHERE name = g.lease AND fence = g.fence::bigint FOR SHARE)
),
moved AS (
  INSERT INTO connector.consumer_places (consumer, partition, place, open)
  SELECT $1, h.partition, h.place, h.open FROM held h
  RETURNING partition, id
),
replaced AS (
  -- What a lost answer has left behind is deleted when the partition is opened.
  DELETE FROM connector.consumer_places p
   WHERE p.consumer = $1 AND p.partition = ANY (ARRAY(SELECT h.partition FROM held h))
     AND p.id = ANY (ARRAY(SELECT h."placeId" FROM held h))
),
entered AS (
  INSERT INTO connector.parked_entries (consumer, key, seq, attempts)
  SELECT $1, e.key, e.seq, e.attempts
    FROM json_to_recordset($3) AS e (partition integer, key text, seq bigint, attempts integer)
    JOIN held USING (partition)
  ON CONFLICT DO NOTHING
),
done AS (
  DELETE FROM connector.parked_entries p
   USING json_to_recordset($4) AS e (partition integer, key text, seq bigint) JOIN held USING (partition)
   WHERE p.consumer = $1 AND p.key = e.key AND p.seq = e.seq
),
ended AS (
  DELETE FROM connector.parked p
   USING json_to_recordset($5) AS e (partition integer, key text, revision integer) JOIN held USING (partition)
   WHERE p.consumer = $1 AND p.key = e.key AND p.revision = e.revision
     -- So that it never reads all rows.
     AND p.key = ANY (ARRAY(SELECT o.key FROM json_to_recordset($5) AS o (key text)))
),
written AS (
  INSERT INTO connector.parked AS p
         (consumer, partition, key, connection_id, seq, due_at, attempts, last_error, since, revision)
  SELECT $1, r.partition, r.key, r."connectionId", r.seq, r."dueAt", r.attempts, r."lastError", r.since, r.revision + 1
    FROM json_to_recordset($6) AS r (partition integer, key text, "connectionId" text, seq bigint, "dueAt" bigint,
                                     attempts integer, "lastError" text, since bigint, revision integer)
    JOIN held USING (partition)
  ON CONFLICT (consumer, key) DO UPDATE
    SET seq = excluded.seq, due_at = excluded.due_at, attempts = excluded.attempts, last_error = excluded.last_error,
        since = excluded.since, revision = p.revision + 1
  RETURNING p.key, p.revision
),
letters AS (
  INSERT INTO connector.dead_letters AS d (consumer, seq, connection_id, message_id, attempts, last_error, at)
  SELECT $1, l.seq, l."connectionId", l."messageId", l.attempts, l."lastError", $8::bigint
    FROM json_to_recordset($7) AS l (partition integer,
        seq bigint,
        "connectionId" text,
        "messageId" text,
        attempts integer,
                                     "lastError" text)
    JOIN held USING (partition)
  ON CONFLICT (consumer, seq) DO UPDATE
    SET attempts = excluded.attempts, last_error = excluded.last_error, at = excluded.at
)
SELECT ARRAY(SELECT json_build_object('partition', m.partition, 'placeId', m.id) FROM moved m) AS held,
       ARRAY(SELECT e.key FROM json_to_recordset($5) AS e (key text, revision integer) WHERE NOT EXISTS (
         SELECT FROM connector.parked p WHERE p.consumer = $1 AND p.key = e.key AND p.revision <> e.revision OFFSET 0)) AS ended,
       ARRAY(SELECT to_json(w) FROM written w) AS written
