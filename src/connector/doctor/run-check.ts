import type { Clock } from '../../runtime/clock/clock.ts';
import { describeError } from '../../runtime/logger/describe-error.ts';
import { type Check, type Finding, notChecked, type Report } from './finding.ts';

/** Deadline of one check; those of the service make several calls. */
const DEADLINE_MS = 12_000;

/** Runs a check within its deadline. Never rejects: a check that breaks or hangs is reported as not checked. */
export async function runCheck<Input>(
  check: Check<Input>,
  inputWith: (signal: AbortSignal) => Input,
  clock: Clock,
  accountId?: string,
): Promise<Report[]> {
  const { id, title } = check;
  const about = { check: id, title, ...(accountId === undefined ? {} : { accountId }) };
  const late = new AbortController();
  let cancel = (): void => undefined;
  const deadline = new Promise<Finding>((resolve) => {
    cancel = clock.after(
      DEADLINE_MS,
      () => {
        late.abort();
        // Code that listens to the signal may still give a better reason than the deadline.
        cancel = clock.after(500, () => resolve(notChecked('The check took too long.')), {
          keepAlive: true,
        });
      },
      { keepAlive: true },
    );
  });
  try {
    const result = await Promise.race([check.run(inputWith(late.signal)), deadline]);
    const findings = Array.isArray(result) ? (result as readonly Finding[]) : [result as Finding];
    return findings.map((finding) => ({
      ...about,
      ...finding,
      ...(late.signal.aborted ? { broken: true } : {}),
    }));
  } catch (error) {
    const { type, code, message } = describeError(error);
    const says = `The check failed: ${message === '' ? type : message}${code === undefined ? '' : ` (${code})`}`;
    return [{ ...about, ...notChecked(says), broken: true }];
  } finally {
    cancel();
  }
}

/** Reports for each check why it was skipped. */
export function skipChecks(checks: readonly Check<never>[], why: string, accountId?: string): Report[] {
  return checks.map(({ id, title }) => ({
    check: id,
    title,
    ...(accountId === undefined ? {} : { accountId }),
    ...notChecked(why),
  }));
}
