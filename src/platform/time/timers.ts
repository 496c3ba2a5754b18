import type { Queryable } from '../../runtime/database/database.ts';

/** What is to happen at a virtual time. */
export interface NewTimer {
  /** Names the handler; shown to people as it is. */
  readonly kind: string;
  /** Virtual epoch ms. */
  readonly dueAt: number;
  /** Stored as JSON. */
  readonly payload: object;
}

/** A timer as stored. */
export interface StoredTimer {
  readonly id: number;
  readonly kind: string;
  readonly dueAt: number;
  readonly payload: unknown;
}

interface Row {
  id: number;
  kind: string;
  due_at: number;
  payload: string;
}

function fromRow(row: Row): StoredTimer {
  return { id: row.id, kind: row.kind, dueAt: row.due_at, payload: JSON.parse(row.payload) };
}

/** Writes timers. Equal due times fire in the order given. */
export async function insertTimers(tx: Queryable, timers: readonly NewTimer[]): Promise<void> {
  await tx.query(
    `INSERT INTO platform.timers (due_at, kind, payload)
     SELECT t.due_at, t.kind, t.payload
     FROM unnest($1::bigint[], $2::text[], $3::text[]) WITH ORDINALITY AS t (due_at, kind, payload, place)
     ORDER BY t.place`,
    [
      timers.map((timer) => Math.round(timer.dueAt)),
      timers.map((timer) => timer.kind),
      timers.map((timer) => JSON.stringify(timer.payload)),
    ],
  );
}

/** The next timers up to a time, soonest first. */
export async function readTimers(db: Queryable, until: number, limit: number): Promise<StoredTimer[]> {
  const rows = await db.query<Row>(
    `SELECT id, kind, due_at, payload FROM platform.timers
     WHERE due_at <= $1 ORDER BY due_at, id LIMIT $2`,
    [until, limit],
  );
  return rows.map(fromRow);
}

/** Removes timers that fire in this transaction. Answers how many were still there. */
export async function deleteTimers(tx: Queryable, ids: readonly number[]): Promise<number> {
  const rows = await tx.query('DELETE FROM platform.timers WHERE id = ANY($1::bigint[]) RETURNING id', [ids]);
  return rows.length;
}
