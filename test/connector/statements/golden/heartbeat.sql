WITH beaten AS (
  UPDATE connector.processes SET beats = beats + 1, beat_at = $2::bigint WHERE id = $1 RETURNING id
)
SELECT EXISTS (SELECT FROM beaten) AS alive,
       ARRAY(SELECT to_json(o) FROM (
         SELECT id, beats FROM connector.processes WHERE id <> $1) o) AS others,
       ARRAY(SELECT to_json(f) FROM (
         SELECT l.name, l.fence, l.owner = $1 AS mine FROM connector.leases l
          WHERE l.owner = $1 OR NOT EXISTS (SELECT FROM connector.processes p WHERE p.id = l.owner)) f) AS leases
