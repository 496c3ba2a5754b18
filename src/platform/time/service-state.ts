import { randomBytes } from 'node:crypto';
import { eq } from 'drizzle-orm';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import { serviceState } from '../db/time-tables.ts';

/** The state of virtual time: its offset from the wall clock, and the time at which it is frozen. */
export interface ClockState {
  readonly offsetMs: number;
  readonly frozenAt: number | null;
}

/** The state that a reset keeps. */
export interface ServiceState extends ClockState {
  /** The key for page cursors. */
  readonly cursorKey: Uint8Array;
}

const ID = 1;

/** Reads the state. The first start on a database creates it, with time equal to the wall clock. */
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

/** Saves the state of the clock. Call it before anything happens at that time. */
export async function saveClock(db: Queryable, { offsetMs, frozenAt }: ClockState): Promise<void> {
  await orm(db)
    .update(serviceState)
    .set({ clockOffsetMs: offsetMs, frozenAt })
    .where(eq(serviceState.id, ID));
}
