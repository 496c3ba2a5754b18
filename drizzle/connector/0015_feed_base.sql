-- The last number is that of the newest numbered batch, so the row of the feed is not written with each numbering.
ALTER TABLE "connector"."feed" RENAME COLUMN "last_seq" TO "base_seq";
--> statement-breakpoint
CREATE FUNCTION "connector"."last_seq"() RETURNS bigint LANGUAGE plpgsql STABLE AS $$
-- Not "sql": that would be planned with each call.
BEGIN
  RETURN greatest(
    (SELECT f.base_seq FROM connector.feed f),
    (SELECT b.last_seq FROM connector.change_batches b WHERE b.last_seq IS NOT NULL ORDER BY b.last_seq DESC LIMIT 1));
END
$$;
--> statement-breakpoint
DROP FUNCTION "connector"."number_changes"(integer);
--> statement-breakpoint
-- Gives up to "most" committed batches of changes their numbers, in the order of "id". They are consecutive, except
-- that they jump when the database is no longer the one that gave the last number: the numbers after that one may have
-- been given, read, and lost.
-- The advisory lock is held to the commit, so one session numbers at a time. Each statement inside sees what was
-- committed before it began, so batches are read under the lock.
--
-- "cluster", "above" and "missing" are what the caller knows from its last call: in this database, every batch up to
-- "above" has a number, except those in "missing", which were not committed yet. So only newer batches are read. An
-- index of those without a number would be long while somebody holds a snapshot: it keeps an entry for each batch that
-- was ever without one. Null for "above" means that nothing is known: then the oldest without a number is looked for,
-- before the lock is taken.
--
-- The planner believes that few batches wait, since mostly none do, and would join them in a nested loop: a
-- backlog would take the square of its length. The settings leave it the plans that are linear.
CREATE FUNCTION "connector"."number_changes"(
  most integer, INOUT cluster text, INOUT above bigint, INOUT missing bigint[], OUT numbered integer, OUT last_seq bigint)
LANGUAGE plpgsql SET enable_nestloop = off SET enable_seqscan = off AS $$
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
$$;
