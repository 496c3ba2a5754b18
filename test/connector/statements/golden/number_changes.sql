CREATE OR REPLACE FUNCTION connector.number_changes(most integer, OUT numbered integer, OUT last_seq bigint)
 RETURNS record
 LANGUAGE plpgsql
 SET enable_nestloop TO 'off'
 SET enable_seqscan TO 'off'
AS $function$
DECLARE
  reached bigint;
  before text;
  present text := connector.present_cluster();
BEGIN
  SELECT f.last_seq, f.cluster INTO STRICT last_seq, before FROM connector.feed f FOR UPDATE;
  last_seq := last_seq + coalesce(connector.cluster_jump(before, present), 0);
  WITH next AS (
    SELECT w.id, number_changes.last_seq + sum(w.size) OVER (ORDER BY w.id) AS upto
      FROM (SELECT u.id, u.size FROM connector.change_batches u
             WHERE u.last_seq IS NULL ORDER BY u.id LIMIT most) w
  ),
  given AS (
    UPDATE connector.change_batches b SET last_seq = next.upto
      FROM next WHERE b.id = next.id AND b.last_seq IS NULL
    RETURNING b.last_seq
  )
  SELECT count(*), max(g.last_seq) INTO numbered, reached FROM given g;
  last_seq := coalesce(reached, last_seq);
  IF numbered > 0 OR before IS DISTINCT FROM coalesce(present, before) THEN
    UPDATE connector.feed f
       SET last_seq = number_changes.last_seq, cluster = coalesce(present, before);
  END IF;
END
$function$
