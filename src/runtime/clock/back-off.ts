export interface BackOffTimes {
  /** The wait after the first failure. */
  readonly firstMs: number;
  readonly longestMs: number;
  /** The share of a wait that is random, from 0 to 1, so that callers that failed together do not retry together. */
  readonly spread?: number;
}

/** The wait in milliseconds after this many consecutive failures. It doubles each time. `random` is between 0 and 1. */
export function backOffMs(
  failures: number,
  { firstMs, longestMs, spread = 0 }: BackOffTimes,
  random = 0,
): number {
  const wait = Math.min(firstMs * 2 ** Math.min(failures - 1, 30), longestMs);
  return Math.round(wait * (1 - spread * random));
}
