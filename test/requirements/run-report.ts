import { z } from 'zod';
import { REQUIREMENTS } from '../requirements.ts';

/** What is needed of the JSON report of a test run. */
const runReport = z.object({
  testResults: z.array(
    z.object({
      assertionResults: z.array(
        z.object({
          status: z.string(),
          meta: z.object({ proves: z.array(z.string()).optional() }).optional(),
        }),
      ),
    }),
  ),
});

/** Sentences that count as proven and that no test of this run proved by passing, in their order. */
export function findUnproven(report: unknown): readonly string[] {
  const passed = runReport
    .parse(report)
    .testResults.flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === 'passed');
  const proven = new Set(passed.flatMap(({ meta }) => meta?.proves ?? []));
  return REQUIREMENTS.filter(({ id, kind }) => kind === 'proven' && !proven.has(id)).map(({ id }) => id);
}
