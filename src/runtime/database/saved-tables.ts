import type { Database, Queryable } from './database.ts';

/** The rows of a schema and the positions of its sequences, as of one moment. */
export type SavedTables = Awaited<ReturnType<typeof saveTables>>;

interface Table {
  readonly name: string;
  /** The other tables that it references. */
  readonly needs: readonly string[];
}

interface SavedTable extends Table {
  /** In the text form of their type. */
  readonly rows: readonly string[];
}

/** Much longer than for an ordinary statement: for transactions that copy or delete all rows of a schema. */
export const ALL_ROWS = { deadlineMs: 60_000 };

/** A name for SQL. */
function quote(schema: string, name: string): string {
  return `"${schema}"."${name}"`;
}

/**
 * The tables of a schema but `except`, each after those that it references. Partitions belong to their table. The table
 * of applied migrations describes the schema, and is not data.
 */
async function listTables(db: Queryable, schema: string, except: readonly string[]): Promise<Table[]> {
  const tables = await db.query<Table & object>(
    `SELECT c.relname::text AS name,
       ARRAY(SELECT p.relname::text FROM pg_constraint f JOIN pg_class p ON p.oid = f.confrelid
         WHERE f.contype = 'f' AND f.conrelid = c.oid AND f.confrelid <> c.oid) AS needs
     FROM pg_class c
     WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
       AND c.relname <> 'applied_migrations'
     ORDER BY c.relname`,
    [`"${schema}"`],
  );
  const ordered = new Map<string, Table>();
  while (ordered.size < tables.length) {
    const next = tables.find(
      ({ name, needs }) => !ordered.has(name) && needs.every((needed) => ordered.has(needed)),
    );
    if (next === undefined) throw new Error(`the tables of ${schema} reference each other in a circle`);
    ordered.set(next.name, next);
  }
  return [...ordered.values()].filter(({ name }) => !except.includes(name));
}

/** The sequences of a schema, except those that belong to the tables `except`. `last` is null before the first use. */
async function listSequences(
  db: Queryable,
  schema: string,
  except: readonly string[],
): Promise<{ readonly name: string; readonly last: number | null }[]> {
  const sequences = await db.query<{ name: string; last: number | null }>(
    'SELECT sequencename::text AS name, last_value AS last FROM pg_sequences WHERE schemaname = $1',
    [schema],
  );
  return sequences.filter(({ name }) => !except.some((table) => name.startsWith(`${table}_`)));
}

/**
 * Deletes all rows of a schema, except those of the tables `except`, and restarts its sequences. Call it in a
 * transaction. Throws what the database throws.
 */
export async function emptyTables(tx: Queryable, schema: string, except: readonly string[]): Promise<void> {
  const listed = await listTables(tx, schema, except);
  const sequences = await listSequences(tx, schema, except);
  const empty = listed.map((table) => ({ ...table, rows: [] }));
  await putRows(tx, schema, empty, 0);
  await setSequences(
    tx,
    schema,
    sequences.map(({ name }) => ({ name, last: null })),
  );
}

/**
 * Reads all rows of a schema, except those of the tables `except` and of the sequences that belong to these tables.
 * Nothing may write while it reads. Throws what the database throws.
 */
export async function saveTables(db: Queryable, schema: string, except: readonly string[]) {
  const listed = await listTables(db, schema, except);
  const found = await db.query<{ place: number; rows: string[] }>(
    forEach(schema, listed, 'array_agg(t::text) AS rows'),
    [],
    ALL_ROWS,
  );
  const byPlace = new Map(found.map(({ place, rows }) => [place, rows]));
  const tables = listed.map((table, place) => ({ ...table, rows: byPlace.get(place) ?? [] }));
  const sequences = await listSequences(db, schema, except);
  let mark = await readMark(db);
  return {
    /** Puts them in the place of the present ones, in one transaction. Throws what the database throws. */
    async restore(database: Database): Promise<void> {
      await database.transaction(async (tx) => {
        await putRows(tx, schema, tables, mark);
        await setSequences(tx, schema, sequences);
      }, ALL_ROWS);
      mark = await readMark(database);
    },
  };
}

/** `last` is null for a sequence that is to begin with its first number. */
async function setSequences(
  tx: Queryable,
  schema: string,
  sequences: readonly { readonly name: string; readonly last: number | null }[],
): Promise<void> {
  const calls = sequences.map(
    ({ name, last }) => `setval('${quote(schema, name)}', ${last ?? 1}, ${last !== null})`,
  );
  if (calls.length > 0) await tx.query(`SELECT ${calls.join(', ')}`);
}

/** The same query of each table; `place` is the place of the table. Empty tables have no row. */
function forEach(schema: string, tables: readonly Table[], select: string): string {
  const parts = tables.map(
    ({ name }, place) =>
      `SELECT ${place} AS place, ${select} FROM ${quote(schema, name)} t HAVING count(*) > 0`,
  );
  return parts.join(' UNION ALL ');
}

/** The id of the next transaction: rows that are written from now on have this id or a later one. */
async function readMark(db: Queryable): Promise<number> {
  const [row] = await db.query<{ mark: number }>(
    'SELECT (pg_snapshot_xmax(pg_current_snapshot())::text::numeric % 4294967296)::int8 AS mark',
  );
  return row?.mark ?? 0;
}

const WRITTEN_LATER = 't.xmin::text::int8 >= $1::int8';

/**
 * Replaces the rows, and leaves alone what is as it was: rows that are older than `mark` can only be saved ones, so a
 * table that still has all of them needs at most the later ones removed. Rows are deleted, not truncated: to truncate
 * a table creates files, even for an empty one, and locks it, which could deadlock with a query that joins several.
 */
async function putRows(
  tx: Queryable,
  schema: string,
  tables: readonly SavedTable[],
  mark: number,
): Promise<void> {
  const counts = await tx.query<{ place: number; all: number; later: number }>(
    forEach(schema, tables, `count(*) AS "all", count(*) FILTER (WHERE ${WRITTEN_LATER}) AS later`),
    [mark],
  );
  const present = new Map(counts.map(({ place, ...count }) => [place, count]));
  const replaced: SavedTable[] = [];
  const trimmed: SavedTable[] = [];
  for (const [place, table] of tables.entries()) {
    const { all, later } = present.get(place) ?? { all: 0, later: 0 };
    // To delete a row deletes those that reference it.
    const losesRows = replaced.some(({ name }) => table.needs.includes(name));
    if (losesRows || all - later !== table.rows.length) replaced.push(table);
    else if (later > 0) trimmed.push(table);
  }
  for (const { name } of replaced.toReversed()) await tx.query(`DELETE FROM ${quote(schema, name)}`);
  for (const { name } of trimmed.toReversed())
    await tx.query(`DELETE FROM ${quote(schema, name)} t WHERE ${WRITTEN_LATER}`, [mark]);
  for (const { name, rows } of replaced) {
    if (rows.length === 0) continue;
    // Without the offset, the text would be read again for each column.
    await tx.query(
      `INSERT INTO ${quote(schema, name)} OVERRIDING SYSTEM VALUE
       SELECT (row).* FROM (SELECT unnest($1::text[])::${quote(schema, name)} AS row OFFSET 0) saved`,
      [rows],
    );
  }
}
