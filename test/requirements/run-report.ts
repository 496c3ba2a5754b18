import { relative } from 'node:path';
import { z } from 'zod';
import { ROOT } from '../support/root.ts';

/** What is needed of the JSON report of a test run. */
const runReport = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      assertionResults: z.array(
        z.object({
          status: z.string(),
          fullName: z.string(),
          meta: z.object({ proves: z.array(z.string()).optional() }).optional(),
        }),
      ),
    }),
  ),
});

/** A test that cites a rule. */
export interface Proof {
  /** Path from the root of the project. */
  readonly file: string;
  readonly name: string;
}

/** The tests of all these runs that ended so, by the id of each rule that they cite. */
export function readProofs(
  reports: readonly unknown[],
  ended: 'passed' | 'failed' = 'passed',
): ReadonlyMap<string, readonly Proof[]> {
  const proofs = reports
    .flatMap((report) => runReport.parse(report).testResults)
    .flatMap(({ name: path, assertionResults }) =>
      assertionResults
        .filter(({ status }) => status === ended)
        .flatMap(({ fullName: name, meta }) =>
          (meta?.proves ?? []).map((id) => ({ id, file: relative(ROOT, path), name })),
        ),
    );
  return Map.groupBy(proofs, ({ id }) => id);
}
