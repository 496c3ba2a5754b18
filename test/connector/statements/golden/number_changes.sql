CREATE OR REPLACE FUNCTION connector.number_changes(most integer, INOUT cluster text, INOUT above bigint, INOUT missing bigint[], OUT numbered integer, OUT last_seq bigint)
 RETURNS record
 LANGUAGE plpgsql
 SET enable_nestloop TO 'off'
 SET enable_seqscan TO 'off'
AS $function$
DECLARE
  -- Ids that were taken before these many others are not expected to be committed any more.
  recent constant bigint := 1000;
  before text;
  present text := connector.present_cluster();
  ids bigint[];
  ends bigint[];
  upto bigint;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'changes are numbered in transactions that are read committed, but this one is %',
      current_setting('transaction_isolation');
  END IF;
  IF cluster IS DISTINCT FROM present THEN
    above := NULL;
    missing := NULL;
  END IF;
  IF above IS NULL THEN
    SELECT b.id - recent INTO above FROM connector.change_batches b ORDER BY b.id DESC LIMIT 1;
    above := greatest(0, least(above, (SELECT u.id - 1 FROM connector.change_batches u
                                        WHERE u.last_seq IS NULL ORDER BY u.id LIMIT 1)));
  END IF;
  cluster := present;
  PERFORM pg_advisory_xact_lock(7204117);
  SELECT f.cluster, connector.last_seq() INTO STRICT before, last_seq FROM connector.feed f;
  IF before IS DISTINCT FROM coalesce(present, before) THEN
    last_seq := last_seq + coalesce(connector.cluster_jump(before, present), 0);
    UPDATE connector.feed f SET base_seq = number_changes.last_seq, cluster = present;
  END IF;
  WITH page AS MATERIALIZED (
    SELECT w.id, w.size FROM (
      (SELECT u.id, u.size FROM connector.change_batches u
        WHERE u.last_seq IS NULL AND u.id > number_changes.above ORDER BY u.id LIMIT most)
      UNION ALL
      SELECT u.id, u.size FROM connector.change_batches u
       WHERE u.last_seq IS NULL AND u.id = ANY (missing) AND u.id <= number_changes.above) w
     ORDER BY w.id LIMIT most
  )
  SELECT array_agg(p.id ORDER BY p.id), array_agg(p.reached ORDER BY p.id),
         greatest(number_changes.above, CASE WHEN count(*) < most
           THEN (SELECT b.id FROM connector.change_batches b ORDER BY b.id DESC LIMIT 1) ELSE max(p.id) END)
    INTO ids, ends, upto
    FROM (SELECT n.id, number_changes.last_seq + sum(n.size) OVER (ORDER BY n.id) AS reached FROM page n) p;
  numbered := coalesce(cardinality(ids), 0);
  IF numbered > 0 THEN
    UPDATE connector.change_batches b SET last_seq = g.reached
      FROM unnest(ids, ends) AS g (id, reached)
     WHERE b.id = g.id AND b.id = ANY (ids) AND b.last_seq IS NULL;
    last_seq := ends[numbered];
  END IF;
  above := greatest(above, upto - recent);
  -- This statement sees what was committed since the page was read, so a batch is only found if it has its number.
  missing := ARRAY(
    SELECT unnest(missing) UNION SELECT generate_series(number_changes.above + 1, upto)
    EXCEPT SELECT b.id FROM connector.change_batches b
            WHERE b.id > number_changes.above AND b.id <= upto AND b.last_seq IS NOT NULL
    EXCEPT SELECT b.id FROM connector.change_batches b WHERE b.id = ANY (missing) AND b.last_seq IS NOT NULL);
  above := upto;
END
$function$
