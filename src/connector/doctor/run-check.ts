import type { Clock } from '../../runtime/clock/clock.ts';
import { describeError } from '../../runtime/logger/describe-error.ts';
import { type Check, type Finding, notChecked, type Report } from './finding.ts';

/** Deadline of one check; those of the service make several calls. */
const DEADLINE_MS = 12_000;

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
  const late = new AbortController();
  let cancel = (): void => undefined;
  const deadline = new Promise<Finding>((resolve) => {
    // Code that listens to the signal may still give a better reason than the deadline.
    const giveUp = (): void => {
      late.abort();
      cancel = clock.after(500, () => resolve(notChecked('The check took too long.')), { keepAlive: true });
    };
    cancel = clock.after(DEADLINE_MS, giveUp, { keepAlive: true });
  });
  try {
    const findings = [await Promise.race([check.run(inputWith(late.signal)), deadline])].flat();
    return findings.map((finding) => (late.signal.aborted ? { ...finding, broken: true } : finding));
  } catch (error) {
    const { type, code, message } = describeError(error);
    const says = `The check failed: ${message === '' ? type : message}${code === undefined ? '' : ` (${code})`}`;
    return [{ ...notChecked(says), broken: true }];
  } finally {
    cancel();
  }
}
