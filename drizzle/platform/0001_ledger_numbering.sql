-- The ledger's numbers begin at 1.
INSERT INTO "platform"."ledger_position" ("id", "last_seq") VALUES (1, 0);
--> statement-breakpoint
-- Numbers up to "batch" committed events that have no number yet, in the order of their ids. Each statement
-- of a volatile function sees what was committed before it, so what is read after the row lock was taken
-- holds every number given before. Answers how many events were numbered.
-- A session keeps its plan from when the ledger was small. Nested loops over a backlog that came since take
-- minutes, so only the plan that fits both is left: a hash join of two index scans.
CREATE FUNCTION "platform"."number_ledger"(batch integer) RETURNS integer LANGUAGE plpgsql VOLATILE
  SET enable_nestloop = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
  top bigint;
  numbered integer;
BEGIN
  SELECT last_seq INTO STRICT top FROM platform.ledger_position WHERE id = 1 FOR UPDATE;
  WITH open AS (
    SELECT id FROM platform.ledger WHERE seq IS NULL ORDER BY id LIMIT batch
  ), given AS (
    SELECT id, row_number() OVER (ORDER BY id) AS place FROM open
  )
  UPDATE platform.ledger SET seq = top + given.place FROM given WHERE ledger.id = given.id;
  GET DIAGNOSTICS numbered = ROW_COUNT;
  UPDATE platform.ledger_position SET last_seq = top + numbered WHERE id = 1;
  RETURN numbered;
END
$$;
