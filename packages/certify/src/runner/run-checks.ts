import type { Clock } from '../../../../src/runtime/clock/clock.ts';
import { type Cause, type Check, type Level, type Result, Skip, Violation } from './check.ts';
import { startDeadline } from './deadline.ts';
import { describeExchange, type Evidence, type Exchange } from './exchange.ts';
import type { Entry, Journal } from './journal.ts';
import type { SecretBook } from './secret-book.ts';

export interface CheckResult {
  readonly id: string;
  readonly section: string;
  readonly rule: string;
  readonly level: Level;
  readonly result: Result;
  readonly ms: number;
  /** Why it was skipped, and which option would help. */
  readonly reason?: string;
  readonly unlock?: string;
  /** What the rule requires and what was found, unless it was kept. */
  readonly expected?: string;
  readonly actual?: string;
  /** What to change, if the rule was not kept. */
  readonly hint?: string;
  /** A command that repeats only this check. */
  readonly repeat?: string;
  readonly notes: readonly string[];
  /** The evidence; for a rule that is kept, only requests and statuses. */
  readonly evidence: readonly Evidence[];
}

export interface RunOptions<Context> {
  readonly checks: readonly Check<Context>[];
  readonly context: Context;
  readonly journal: Journal;
  readonly secrets: SecretBook;
  readonly clock: Clock;
  /** Default timeout of a check, in milliseconds. */
  readonly timeoutMs: number;
  /** Ends the run after the check that it interrupts. */
  readonly signal: AbortSignal;
  /** Why a check cannot run with these inputs; undefined if it can. */
  readonly findLock: (check: Check<Context>) => Skip | undefined;
  /**
   * What an error other than a `Violation` or a `Skip` counts as. Default: `fail`, for checks that read answers
   * of any form.
   */
  readonly unexpected?: 'fail' | 'harness';
  /** Shows the bodies of requests as they were sent, not as JSON without private values. Default: false. */
  readonly showsBytes?: boolean;
  /** A command that repeats only the violation, by its check and the exchange that shows it. */
  readonly repeat?: ((id: string, exchange: Exchange | undefined) => string | undefined) | undefined;
  /** Looks for the cause of a violation. Its hint replaces that of the check. */
  readonly findCause?: (violation: Violation) => Promise<Cause | undefined>;
  readonly onStart?: ((check: Check<Context>) => void) | undefined;
  readonly onResult?: ((result: CheckResult) => void) | undefined;
}

const MAX_EVIDENCE = 12;

/**
 * Runs checks one after the other, in order. Never rejects: whatever a check throws becomes its result.
 * Checks that an interruption ended or left out, or that did not run because the cause of a violation is that of all further ones,
 * are not among the results.
 */
export async function runChecks<Context>(options: RunOptions<Context>): Promise<readonly CheckResult[]> {
  const results: CheckResult[] = [];
  for (const check of options.checks) {
    if (options.signal.aborted) break;
    options.onStart?.(check);
    const { result, isLast } = await runCheck(check, options);
    if (result === null) break;
    results.push(result);
    options.onResult?.(result);
    if (isLast) break;
  }
  return results;
}

/** The result is null if the run was interrupted meanwhile. */
async function runCheck<Context>(
  check: Check<Context>,
  options: RunOptions<Context>,
): Promise<{ readonly result: CheckResult | null; readonly isLast: boolean }> {
  const { clock, journal, signal } = options;
  const began = clock.elapsed();
  const over = new AbortController();
  const limitMs = check.timeoutMs ?? options.timeoutMs;
  const deadline = startDeadline(clock, limitMs, () =>
    over.abort(new Violation(`a result within ${limitMs / 1000} s`, 'none by then')),
  );
  const interrupted = new Error('the run was interrupted');
  const interrupt = (): void => over.abort(interrupted);
  signal.addEventListener('abort', interrupt, { once: true });
  const entry = journal.begin(over.signal, deadline.extend);
  let thrown: unknown;
  try {
    const lock = options.findLock(check);
    if (lock !== undefined) throw lock;
    await Promise.race([check.run(options.context, entry.probe), rejectWith(over.signal)]);
  } catch (error) {
    // The failure of an aborted check means nothing; the reason of the abort counts.
    thrown = over.signal.aborted ? over.signal.reason : error;
  } finally {
    deadline.stop();
    signal.removeEventListener('abort', interrupt);
  }
  if (thrown === interrupted) return { result: null, isLast: true };
  const ms = clock.elapsed() - began;
  let cause: Cause | undefined;
  if (thrown instanceof Violation && options.findCause !== undefined) {
    // Its exchanges are no evidence, and are not subject to the deadline of the check.
    journal.begin(signal, () => undefined);
    // The violation counts, although an interruption ends the search for its cause.
    cause = await options.findCause(thrown).catch((error: unknown) => {
      if (!signal.aborted) throw error;
      return undefined;
    });
  }
  const hint = cause?.hint ?? (thrown instanceof Violation ? thrown.hint : undefined);
  const described = hint === undefined ? check : { ...check, hint };
  return { result: describeResult(described, thrown, entry, ms, options), isLast: cause?.isLast === true };
}

function rejectWith(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}

function describeResult<Context>(
  { id, section, rule, level, hint }: Check<Context>,
  thrown: unknown,
  entry: Entry,
  ms: number,
  { secrets: { hide }, unexpected = 'fail', repeat, showsBytes = false }: RunOptions<Context>,
): CheckResult {
  const base = { id, section, rule, level, ms: Math.round(ms), notes: entry.notes.map(hide) };
  const brief = entry.exchanges
    .slice(-MAX_EVIDENCE)
    .map((exchange) => describeExchange(exchange, hide, false));
  if (thrown === undefined) return { ...base, result: 'pass', evidence: brief };
  if (thrown instanceof Skip) {
    const unlock = thrown.unlock === undefined ? {} : { unlock: thrown.unlock };
    return { ...base, result: 'skip', reason: hide(thrown.message), ...unlock, evidence: brief };
  }
  if (!(thrown instanceof Violation) && unexpected === 'harness') {
    const reason = hide(thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown));
    return { ...base, result: 'harness', reason, evidence: brief };
  }
  const result = level === 'reading' ? 'differs' : 'fail';
  const shown = (thrown instanceof Violation ? thrown.exchange : undefined) ?? entry.exchanges.at(-1);
  const command = repeat?.(id, shown);
  return {
    ...base,
    result,
    ...(hint === undefined ? {} : { hint }),
    ...(command === undefined ? {} : { repeat: hide(command) }),
    expected: thrown instanceof Violation ? hide(thrown.expected) : 'a response that the check can read',
    actual: hide(
      thrown instanceof Violation ? thrown.actual : thrown instanceof Error ? thrown.message : String(thrown),
    ),
    evidence: shown === undefined ? [] : [describeExchange(shown, hide, true, showsBytes)],
  };
}
