/** Longest wait that is believed; a misconfigured proxy must not stop an account for a year. */
const LONGEST_MS = 24 * 60 * 60 * 1_000;

// The three forms of an HTTP date begin with a weekday and mean GMT; the oldest form does not name it.
const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /;

/**
 * Reads a `Retry-After` header, in seconds or as an HTTP date, into milliseconds from `now`; at most a day.
 * A date is taken relative to the answer's own `Date` when there is one, so that a wrong clock on this side
 * does not matter. Null when it is absent or malformed. Implements `Errors`: it is never guaranteed.
 */
export function readRetryAfter(headers: Headers, now: number): number | null {
  const value = headers.get('retry-after')?.trim() ?? '';
  if (/^\d{1,9}$/.test(value)) return Math.min(Number(value) * 1_000, LONGEST_MS);
  const at = readHttpDate(value);
  if (at === null) return null;
  const sentAt = readHttpDate(headers.get('date') ?? '') ?? now;
  return Math.min(Math.max(0, at - sentAt), LONGEST_MS);
}

/** Reads an HTTP date into epoch milliseconds; null when it is none. */
export function readHttpDate(value: string): number | null {
  if (!HTTP_DATE.test(value)) return null;
  const at = Date.parse(value.endsWith('GMT') ? value : `${value} GMT`);
  return Number.isNaN(at) ? null : at;
}
