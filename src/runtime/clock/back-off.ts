export interface BackOffTimes {
  /** The wait after the first failure. */
  readonly firstMs: number;
  readonly longestMs: number;
  /** The part of a wait that chance may take away, so that those who failed together do not come back together. */
  readonly spread?: number;
}

/** The wait in milliseconds after the `failures`-th failure in a row: it doubles each time. `random` is between 0 and 1. */
export function backOffMs(
  failures: number,
  { firstMs, longestMs, spread = 0 }: BackOffTimes,
  random = 0,
): number {
  const wait = Math.min(firstMs * 2 ** Math.min(failures - 1, 30), longestMs);
  return Math.round(wait * (1 - spread * random));
}
