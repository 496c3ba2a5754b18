/*
 * A process plans when a key is due next by its own clock, which may be wrong. A time that lies further ahead than
 * any wait of its kind was planned by such a clock, and counts as due: otherwise an hour on one machine would stop the
 * work of all others for an hour.
 */

/** When a key is due: the planned time, or now if no wait is that long. Times in epoch ms. */
export function dueAtOf(plannedAt: number, now: number, longestWaitMs: number): number {
  return plannedAt - now > longestWaitMs ? now : plannedAt;
}

/** SQL: the same. Takes SQL expressions; null stays null. */
export function dueAtSql(plannedAt: string, now: string, longestWaitMs: number | string): string {
  return `CASE WHEN ${plannedAt} - ${now} > ${longestWaitMs} THEN ${now} ELSE ${plannedAt} END`;
}
