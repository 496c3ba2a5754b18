import { randomBytes } from 'node:crypto';
import { eq } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { serviceState } from '../db/time-tables.ts';

/** Where virtual time stands: its distance from the wall clock, or the time at which it was frozen. */
export interface ClockState {
  readonly offsetMs: number;
  readonly frozenAt: number | null;
}

/** What outlives every reset. */
export interface ServiceState extends ClockState {
  /** Key that seals page cursors, and that user codes are derived from. */
  readonly cursorKey: Uint8Array;
}

const ID = 1;

/** Reads the state; the first start on a database makes it, with time equal to the wall clock. */
export async function loadServiceState(db: Queryable): Promise<ServiceState> {
  await orm(db)
    .insert(serviceState)
    .values({ id: ID, clockOffsetMs: 0, frozenAt: null, cursorKey: randomBytes(32) })
    .onConflictDoNothing();
  const { clockOffsetMs: offsetMs, frozenAt, cursorKey } = serviceState;
  const [row] = await orm(db)
    .select({ offsetMs, frozenAt, cursorKey })
    .from(serviceState)
    .where(eq(serviceState.id, ID));
  if (row === undefined) throw new Error('the service state is missing from the database');
  return row;
}

/** Writes where the clock stands. Called before anything happens at that time. */
export async function saveClock(db: Queryable, { offsetMs, frozenAt }: ClockState): Promise<void> {
  await orm(db)
    .update(serviceState)
    .set({ clockOffsetMs: offsetMs, frozenAt })
    .where(eq(serviceState.id, ID));
}
