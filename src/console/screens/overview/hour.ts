const MINUTES = 60;
const MINUTE_MS = 60_000;

/** One column of a sparkline: what went well and what did not. */
export interface Column {
  readonly good: number;
  readonly bad: number;
}

/** The last hour by the minute, oldest first, and its sums. */
export interface Hour {
  readonly columns: readonly (Column | null)[];
  /** The minutes of which all is known, if these are not all. */
  readonly minutes: number | undefined;
  readonly good: number;
  readonly bad: number;
}

/**
 * Puts what happened into the minutes of the last hour. `since` is the time from which on all of it is known: minutes
 * that begin earlier are null. Times are epoch milliseconds.
 */
export function hourOf(
  now: number,
  since: number,
  happened: readonly { readonly at: number; readonly isBad?: boolean }[],
): Hour {
  const first = Math.floor(now / MINUTE_MS) - MINUTES + 1;
  const columns = Array.from({ length: MINUTES }, (_, place) =>
    (first + place) * MINUTE_MS < since ? null : { good: 0, bad: 0 },
  );
  for (const { at, isBad = false } of happened) {
    const column = columns[Math.floor(at / MINUTE_MS) - first];
    if (column === null || column === undefined) continue;
    if (isBad) column.bad += 1;
    else column.good += 1;
  }
  const sum = (key: keyof Column): number =>
    columns.reduce((all, column) => all + (column === null ? 0 : column[key]), 0);
  const known = columns.filter((column) => column !== null).length;
  return { columns, minutes: known < MINUTES ? known : undefined, good: sum('good'), bad: sum('bad') };
}
