import { getTableColumns } from 'drizzle-orm';
import { changes } from './feed-tables.ts';
import { sqlType } from './input-columns.ts';

type Column = Exclude<keyof typeof changes.$inferInsert, 'batch' | 'position'>;
type Required = 'type' | 'at' | 'accountId' | 'connectionId' | 'source';

/** Changes of one kind: an SQL expression for each of their columns, over the rows of `from`. */
export type ChangeToWrite = Readonly<Record<Required, string>> &
  Readonly<Partial<Record<Exclude<Column, Required>, string>>> & {
    /** `FROM …` and what follows it. One change is written for each of its rows. */
    readonly from: string;
  };

/** Changes to write, as parts of the statement that makes them. */
export interface ChangesToWrite {
  /** The CTEs that lock and change rows. All of them. */
  readonly made: readonly string[];
  /** The changes, in the order in which they are written. */
  readonly changes: readonly ChangeToWrite[];
}

const COLUMNS = Object.entries(getTableColumns(changes)) as [Column, (typeof changes)[Column]][];

/**
 * CTEs `batch`, `changed` and `inserted_batch`: they write changes for the CRM, in the statement that makes them.
 *
 * The id of the batch is taken when all rows that the statement changes are locked, and they stay locked until
 * it commits. So if two statements change a row, the ids of their batches are in the order in which they
 * changed it, and a reader that sees the second batch committed sees the first one, too: numbering batches by
 * their ids keeps the order of every row's changes.
 */
export function writeChanges({ made, changes: written }: ChangesToWrite): string {
  const locked = made.map((cte) => `(SELECT count(*) FROM ${cte}) AS all_${cte}`).join(', ');
  const columns = COLUMNS.filter(([key]) => written.some((change) => change[key] !== undefined));
  const rows = written.map((change) => {
    const values = columns.map(([key, column]) => change[key] ?? `NULL::${sqlType(column)}`);
    return `SELECT ${values.join(', ')}\n    ${change.from}`;
  });
  return `batch AS MATERIALIZED (
  SELECT nextval('connector.change_batch_id') AS id FROM ${locked}
),
changed AS (
  INSERT INTO connector.changes (batch, position, ${columns.map(([, { name }]) => name).join(', ')})
  SELECT (SELECT b.id FROM batch b), row_number() OVER (), t.* FROM (
  ${rows.join('\n  UNION ALL\n  ')}) t
  RETURNING at
),
inserted_batch AS (
  INSERT INTO connector.change_batches (id, size, changed_at)
  SELECT (SELECT b.id FROM batch b), count(*), max(at) FROM changed HAVING count(*) > 0
  RETURNING size
)`;
}
