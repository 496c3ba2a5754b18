import type { Clock } from '../../runtime/clock/clock.ts';

/*
 * A process plans when a key is due next by its own clock, which may be wrong. A time that lies further ahead than
 * any wait of its kind was planned by such a clock: waiting for it would let an hour on one machine stop the work of all
 * others for an hour. But a process that is ahead and lives plans again within the longest wait, and if another took
 * the key up before, each would undo the waits of the other. So such a time counts as due once it has stayed the same
 * for the longest wait, by the monotonic clock of whoever looks: `createPlans`. It counts as due at once where one
 * process keeps the key for a minute or longer (a queue of sends, a partition), where nothing is retried (the quota), and
 * for the refresh of a token, which its callers delay themselves.
 */

/** When a key is due: the planned time, or now if no wait is that long. Times in epoch ms. */
export function dueAtOf(plannedAt: number, now: number, longestWaitMs: number): number {
  return plannedAt - now > longestWaitMs ? now : plannedAt;
}

/** SQL: the same. Takes SQL expressions; null stays null. */
export function dueAtSql(plannedAt: string, now: string, longestWaitMs: number | string): string {
  return `CASE WHEN ${plannedAt} - ${now} > ${longestWaitMs} THEN ${now} ELSE ${plannedAt} END`;
}

/** More keys than any look finds. With more, their waits begin again. */
const MAX_KEYS = 20_000;

/** When a key with this planned time is due, as one process sees it. Times in epoch ms. */
export type Plans = (key: string, plannedAt: number) => number;

export function createPlans(clock: Clock, longestWaitMs: number): Plans {
  /** Times that lie too far ahead, and since when each is known, on our monotonic clock. */
  const tooFar = new Map<string, { readonly plannedAt: number; readonly since: number }>();
  return (key, plannedAt) => {
    const [now, elapsed] = [clock.now(), clock.elapsed()];
    const known = tooFar.get(key);
    if (plannedAt - now <= longestWaitMs) {
      tooFar.delete(key);
      return plannedAt;
    }
    if (known?.plannedAt === plannedAt) return elapsed - known.since < longestWaitMs ? plannedAt : now;
    if (tooFar.size >= MAX_KEYS) tooFar.clear();
    tooFar.set(key, { plannedAt, since: elapsed });
    return plannedAt;
  };
}
