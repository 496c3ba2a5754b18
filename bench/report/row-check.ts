import postgres from 'postgres';

/** A count beside what it must be. */
export interface RowCheck {
  readonly what: string;
  readonly expected: number;
  readonly found: number;
}

/** Counts rows of a database: what they are, how many there must be, and a table with or without a condition. */
export async function countRows(
  databaseUrl: string,
  queries: readonly (readonly [what: string, expected: number, from: string])[],
): Promise<RowCheck[]> {
  const sql = postgres(databaseUrl, { max: 1 });
  try {
    const checks: RowCheck[] = [];
    for (const [what, expected, from] of queries) {
      const [row] = await sql.unsafe<{ count: number }[]>(`SELECT count(*)::int AS count FROM ${from}`);
      checks.push({ what, expected, found: row?.count ?? -1 });
    }
    return checks;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** One sentence for each count that is not what it must be. */
export function describeMismatches(rows: readonly RowCheck[]): string[] {
  return rows
    .filter(({ expected, found }) => expected !== found)
    .map(({ what, expected, found }) => `${what}: ${found} where ${expected} belong`);
}
