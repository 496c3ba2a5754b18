const FIRST_MS = 1_000;
const LONGEST_MS = 2 * 60_000;

/**
 * The wait after the `failures`-th failure of a change in a row: doubling from a second to two minutes, of which
 * `random` (0 to 1) takes up to a fifth away, so that connections that failed together do not come back together.
 */
export function waitAfter(failures: number, random: number): number {
  const longest = Math.min(FIRST_MS * 2 ** Math.min(failures - 1, 20), LONGEST_MS);
  return Math.round(longest * (1 - random / 5));
}
