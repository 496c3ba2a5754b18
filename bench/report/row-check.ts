/** A count beside what it must be. */
export interface RowCheck {
  readonly what: string;
  readonly expected: number;
  readonly found: number;
}

/** One sentence for each count that is not what it must be. */
export function describeMismatches(rows: readonly RowCheck[]): string[] {
  return rows
    .filter(({ expected, found }) => expected !== found)
    .map(({ what, expected, found }) => `${what}: ${found} where ${expected} belong`);
}
