ALTER TABLE "connector"."feed" ADD COLUMN "cluster" text;--> statement-breakpoint
-- The database that runs this: system identifier, OID and timeline. A promotion and a recovery to a point in time begin
-- a timeline; a restored dump is in another database. Null where the server does not tell.
CREATE FUNCTION "connector"."present_cluster"() RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT s.system_identifier FROM pg_control_system() s)
    || '/' || (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
    || '/' || ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint;
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END
$$;
--> statement-breakpoint
-- How far numbers jump from one database to another; null if one of them is unknown. Later timelines of a server may each have given numbers of their
-- own, so each has its own range. Other databases have no order: which of 1,024 ranges they use depends on both
-- identities, so that two copies of one database are unlikely to give the same numbers.
CREATE FUNCTION "connector"."cluster_jump"(before text, present text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS $$
  SELECT 4294967296 * CASE
    WHEN before = present THEN 0
    WHEN regexp_replace(before, '/\d+$', '') = regexp_replace(present, '/\d+$', '')
      THEN greatest(1, split_part(present, '/', 3)::bigint - split_part(before, '/', 3)::bigint)
    ELSE 1 + (hashtext(before || ' ' || present)::bigint & 1023)
  END
$$;
--> statement-breakpoint
-- Gives up to "most" committed batches of changes their numbers, in the order of "id". They are consecutive, except
-- that they jump when the database is no longer the one that gave the last number: the numbers after that one may have
-- been given, read, and lost.
-- The row lock on the feed is held to the commit: it is lease and fence at once, and it lasts as long as this
-- call. Each statement inside sees what was committed before it began, so batches are read under the lock.
-- The planner believes that few batches wait, since mostly none do, and would join them in a nested loop: a
-- backlog would take the square of its length. The settings leave it the plans that are linear.
CREATE OR REPLACE FUNCTION "connector"."number_changes"(most integer, OUT numbered integer, OUT last_seq bigint)
LANGUAGE plpgsql SET enable_nestloop = off SET enable_seqscan = off AS $$
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
$$;
