import { lte } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { isAnyOf, orm } from '../../runtime/database/orm.ts';
import { timers } from '../db/time-tables.ts';

/** A timer on virtual time. */
export interface NewTimer {
  /** Selects the handler; also shown to users. */
  readonly kind: string;
  /** Virtual epoch ms. */
  readonly dueAt: number;
  /** Stored as JSON. */
  readonly payload: object;
}

export interface StoredTimer {
  readonly id: number;
  readonly kind: string;
  readonly dueAt: number;
  readonly payload: unknown;
}

/** Writes timers. Equal due times fire in the order given. */
export async function insertTimers(tx: Queryable, added: readonly NewTimer[]): Promise<void> {
  if (added.length === 0) return;
  await orm(tx)
    .insert(timers)
    .values(
      added.map(({ kind, dueAt, payload }) => ({
        kind,
        dueAt: Math.round(dueAt),
        payload: JSON.stringify(payload),
      })),
    );
}

/** The next timers up to a time, soonest first. */
export async function readTimers(db: Queryable, until: number, limit: number): Promise<StoredTimer[]> {
  const { id, kind, dueAt, payload } = timers;
  const rows = await orm(db)
    .select({ id, kind, dueAt, payload })
    .from(timers)
    .where(lte(dueAt, until))
    .orderBy(dueAt, id)
    .limit(limit);
  return rows.map((row) => ({ ...row, payload: JSON.parse(row.payload) }));
}

/** How many timers are due up to a time. */
export async function countTimers(db: Queryable, until: number): Promise<number> {
  return await orm(db).$count(timers, lte(timers.dueAt, until));
}

/** Deletes the timers that fire in this transaction. Returns how many of them still existed. */
export async function deleteTimers(tx: Queryable, ids: readonly number[]): Promise<number> {
  const rows = await orm(tx).delete(timers).where(isAnyOf(timers.id, ids)).returning({ id: timers.id });
  return rows.length;
}
