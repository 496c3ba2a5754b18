import { randomBytes } from 'node:crypto';
import type { Queryable } from '../../runtime/database/database.ts';

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

interface Row {
  clock_offset_ms: number;
  frozen_at: number | null;
  cursor_key: Buffer;
}

/** Reads the state; the first start on a database makes it, with time equal to the wall clock. */
export async function loadServiceState(db: Queryable): Promise<ServiceState> {
  await db.query(
    `INSERT INTO platform.service_state (id, clock_offset_ms, frozen_at, cursor_key)
     VALUES (1, 0, NULL, $1) ON CONFLICT (id) DO NOTHING`,
    [randomBytes(32)],
  );
  const [row] = await db.query<Row>(
    'SELECT clock_offset_ms, frozen_at, cursor_key FROM platform.service_state WHERE id = 1',
  );
  if (row === undefined) throw new Error('the service state is missing from the database');
  return { offsetMs: row.clock_offset_ms, frozenAt: row.frozen_at, cursorKey: row.cursor_key };
}

/** Writes where the clock stands. Called before anything happens at that time. */
export async function saveClock(db: Queryable, clock: ClockState): Promise<void> {
  await db.query('UPDATE platform.service_state SET clock_offset_ms = $1, frozen_at = $2 WHERE id = 1', [
    clock.offsetMs,
    clock.frozenAt,
  ]);
}
