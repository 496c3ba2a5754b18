import type { Clock } from '../../../../src/runtime/clock/clock.ts';
import { type Conclusion, createReport, type Report } from '../report/report.ts';
import { type CheckResult, type RunOptions, runChecks } from '../runner/run-checks.ts';

export interface SuiteRun {
  /** Runs only checks whose ids start with one of these; default: all. */
  readonly only?: readonly string[] | undefined;
  readonly clock: Clock;
  /** Ends the run after the check that it interrupts. */
  readonly signal: AbortSignal;
  readonly onResult?: ((result: CheckResult) => void) | undefined;
}

/** What a suite runs, and how its report describes it. */
interface Suite<Context extends Pick<RunOptions<unknown>, 'journal' | 'secrets'>>
  extends Omit<RunOptions<Context>, keyof SuiteRun | 'journal' | 'secrets'> {
  readonly about: Pick<Report, 'suite' | 'target' | 'profile'>;
  /** Removes what the checks created. Resolves with what is left. */
  readonly cleanUp?: () => Promise<readonly string[]>;
  readonly conclusion?: Conclusion;
}

/** The checks whose ids start with one of `only`; all of them without it. */
export function selectById<Check extends { readonly id: string }>(
  checks: readonly Check[],
  only: readonly string[] | undefined,
): readonly Check[] {
  return checks.filter(({ id }) => only?.some((prefix) => id.startsWith(prefix)) ?? true);
}

/** Runs the checks of a suite and reports their results. */
export async function runSuite<Context extends Pick<RunOptions<unknown>, 'journal' | 'secrets'>>(
  { clock, signal, onResult }: SuiteRun,
  { about, cleanUp, conclusion, ...suite }: Suite<Context>,
): Promise<Report> {
  const startedAt = new Date(clock.now()).toISOString();
  const began = clock.elapsed();
  const { journal, secrets } = suite.context;
  const results = await runChecks({ ...suite, journal, secrets, clock, signal, onResult });
  const leftBehind = (await cleanUp?.()) ?? [];
  return createReport(
    {
      ...about,
      startedAt,
      ms: Math.round(clock.elapsed() - began),
      notRun: suite.checks.slice(results.length).map(({ id }) => id),
      leftBehind,
      results,
    },
    conclusion,
  );
}
