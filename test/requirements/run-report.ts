import { relative } from 'node:path';
import { z } from 'zod';
import { ROOT } from '../support/root.ts';

/** The required parts of the JSON report of a test run. */
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

interface EndedTest extends Proof {
  /** Ids of the rules that it cites. */
  readonly proves: readonly string[];
}

/** The tests of all these runs with this result. */
export function readEnded(reports: readonly unknown[], ended: 'passed' | 'failed'): readonly EndedTest[] {
  return reports
    .flatMap((report) => runReport.parse(report).testResults)
    .flatMap(({ name: path, assertionResults }) =>
      assertionResults
        .filter(({ status }) => status === ended)
        .map(({ fullName: name, meta }) => ({
          file: relative(ROOT, path),
          name,
          proves: meta?.proves ?? [],
        })),
    );
}

/** The tests of all these runs that passed, by the id of each rule that they cite. */
export function readProofs(reports: readonly unknown[]): ReadonlyMap<string, readonly Proof[]> {
  const proofs = readEnded(reports, 'passed').flatMap(({ file, name, proves }) =>
    proves.map((id) => ({ id, file, name })),
  );
  return Map.groupBy(proofs, ({ id }) => id);
}
