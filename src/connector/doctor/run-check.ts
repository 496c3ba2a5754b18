import type { Clock } from '../../runtime/clock/clock.ts';
import { abortAfter, DeadlinePassed, within } from '../../runtime/clock/deadline.ts';
import { describeError } from '../../runtime/logger/describe-error.ts';
import { type Check, type Finding, notChecked, type Report } from './finding.ts';

/** Deadline of one check; those of the service make several calls. */
const DEADLINE_MS = 12_000;
const TOO_LONG = 'The check took too long.';

/** What a check is given, or the reason why there is nothing to check. */
export type Given<Input> = ((signal: AbortSignal) => Input) | string;

/** Runs checks one after the other, each within its deadline. Never rejects: one that breaks or hangs is reported. */
export async function runChecks<Input>(
  checks: readonly Check<Input>[],
  given: Given<Input>,
  clock: Clock,
  accountId?: string,
): Promise<Report[]> {
  const reports: Report[] = [];
  for (const check of checks) {
    const about = { check: check.id, title: check.title, ...(accountId === undefined ? {} : { accountId }) };
    const found = typeof given === 'string' ? [notChecked(given)] : await runCheck(check, given, clock);
    reports.push(...found.map((finding) => ({ ...about, ...finding })));
  }
  return reports;
}

async function runCheck<Input>(
  check: Check<Input>,
  inputWith: (signal: AbortSignal) => Input,
  clock: Clock,
): Promise<readonly (Finding & Pick<Report, 'broken'>)[]> {
  const work = abortAfter(clock, DEADLINE_MS, async (signal) => {
    const findings = [await check.run(inputWith(signal))].flat();
    return findings.map((finding) => (signal.aborted ? { ...finding, broken: true as const } : finding));
  });
  try {
    // Code that listens to the signal may still give a better reason than the deadline.
    return await within(clock, DEADLINE_MS + 500, work);
  } catch (error) {
    const { type, code, message } = describeError(error);
    const says = `The check failed: ${message === '' ? type : message}${code === undefined ? '' : ` (${code})`}`;
    return [{ ...notChecked(error instanceof DeadlinePassed ? TOO_LONG : says), broken: true }];
  }
}
