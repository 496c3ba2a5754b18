const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A duration for people: `340 ms`, `12 s`, `5 min`, `3 h`, `2 days`. */
export function span(ms: number): string {
  const length = Math.abs(ms);
  if (length < 1_000) return `${Math.round(length)} ms`;
  if (length < 2 * MINUTE_MS) return `${Number((length / 1_000).toFixed(1))} s`;
  if (length < 2 * HOUR_MS) return `${Math.round(length / MINUTE_MS)} min`;
  if (length < 2 * DAY_MS) return `${Math.round(length / HOUR_MS)} h`;
  return `${Math.round(length / DAY_MS)} days`;
}

/** A time for people: `12 s ago`, `never`, or `76 min in the future` if a clock of somebody else says so. */
export function ago(at: number | null, now: number): string {
  if (at === null) return 'never';
  // Less is what the clocks of processes differ by.
  return at - now > 1_000 ? `${span(at - now)} in the future` : `${span(Math.max(0, now - at))} ago`;
}

/** `1 event`, `3 events`. */
export function count(number: number, what: string, many = `${what}s`): string {
  return `${number} ${number === 1 ? what : many}`;
}

/** The first few items of a list, and the number of the others. */
export function some(items: readonly string[], most = 5): string {
  const more = items.length - most;
  return items.slice(0, most).join(', ') + (more > 0 ? `, and ${more} more` : '');
}
