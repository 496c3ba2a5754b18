/** Changes to tell, as pieces of the statement that makes them. */
export interface ToldChanges {
  /** The CTEs that lock and change rows. All of them. */
  readonly made: readonly string[];
  /** Columns of `connector.changes`, from `type` on. */
  readonly columns: string;
  /** A query with these columns and a row for each change, in the order in which they are told. */
  readonly rows: string;
}

/**
 * CTEs `batch`, `changed` and `told`: they write changes for the CRM, in the statement that makes them.
 *
 * The id of the batch is taken when every row is locked that the statement changes, and held until it commits.
 * So if two statements change a row, the ids of their batches are in the order in which they changed it, and
 * whoever sees the second batch committed sees the first one committed too: numbering batches by their ids
 * keeps the order of every row's changes.
 */
export function tellChanges({ made, columns, rows }: ToldChanges): string {
  const locked = made.map((cte) => `(SELECT count(*) FROM ${cte}) AS all_${cte}`).join(', ');
  return `batch AS MATERIALIZED (
  SELECT nextval('connector.change_batch_id') AS id FROM ${locked}
),
changed AS (
  INSERT INTO connector.changes (batch, position, ${columns})
  SELECT (SELECT b.id FROM batch b), row_number() OVER (), t.* FROM (
  ${rows}) t
  RETURNING at
),
told AS (
  INSERT INTO connector.change_batches (id, size, told_at)
  SELECT (SELECT b.id FROM batch b), count(*), max(at) FROM changed HAVING count(*) > 0
  RETURNING size
)`;
}
