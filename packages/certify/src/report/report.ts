import type { Result } from '../runner/check.ts';
import type { CheckResult } from '../runner/run-checks.ts';

/** The result of a run of a suite; also the JSON report. Contains no credentials. */
export interface Report {
  /** Increased when a field changes its meaning. */
  readonly version: 1;
  /** Name of the suite. */
  readonly suite: string;
  readonly target: string;
  readonly profile: string;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly ms: number;
  readonly verdict: Verdict;
  readonly counts: Readonly<Record<Result, number>>;
  /** Failed checks of level `must`. */
  readonly violations: number;
  /** Failed checks of level `should`. */
  readonly advice: number;
  /** Checks that did not run because of an interruption. */
  readonly notRun: readonly string[];
  /** What the suite created and could not remove. */
  readonly leftBehind: readonly string[];
  readonly results: readonly CheckResult[];
}

/** `unknown`: something, or everything, could not be judged; `harness`: a check itself failed. */
export type Verdict = 'conforms' | 'violates' | 'harness' | 'unknown' | 'interrupted';

/** The input of a report. */
export type ReportParts = Omit<Report, 'version' | 'verdict' | 'counts' | 'violations' | 'advice'>;

/** How a suite draws its conclusion. */
export interface Conclusion {
  /** True if a check without a result leaves the verdict open, unless an option for it is missing. */
  readonly demandsAll?: boolean;
}

/**
 * Counts results and draws the conclusion: a violated `must` violates the specification, whatever else was
 * not checked.
 */
export function createReport(parts: ReportParts, { demandsAll = false }: Conclusion = {}): Report {
  const { results, notRun } = parts;
  const count = (result: Result): number => results.filter((one) => one.result === result).length;
  const failed = results.filter(({ result }) => result === 'fail');
  const violations = failed.filter(({ level }) => level === 'must').length;
  const isNothing = results.length > 0 && count('skip') === results.length;
  const isOpen =
    isNothing ||
    (demandsAll && results.some(({ result, unlock }) => result === 'skip' && unlock === undefined));
  const verdict =
    violations > 0
      ? 'violates'
      : count('harness') > 0
        ? 'harness'
        : notRun.length > 0
          ? 'interrupted'
          : isOpen
            ? 'unknown'
            : 'conforms';
  return {
    version: 1,
    ...parts,
    verdict,
    counts: {
      pass: count('pass'),
      fail: count('fail'),
      differs: count('differs'),
      skip: count('skip'),
      harness: count('harness'),
    },
    violations,
    advice: failed.length - violations,
  };
}

/** The first part of a check's id: its area. */
export function areaOf({ id }: { readonly id: string }): string {
  return id.split('.', 1).join('');
}

/** Results by area, in order of first appearance. */
export function groupByArea(results: readonly CheckResult[]): ReadonlyMap<string, readonly CheckResult[]> {
  return Map.groupBy(results, areaOf);
}

/**
 * The conclusion as one line. It states the number of skipped checks next to the kept ones: a run that skips
 * most checks says little about a service. How many could be judged depends on what the account holds; the last number,
 * of all checks, does not.
 */
export function conclude({ suite, verdict, counts, violations, advice, notRun, results }: Report): string {
  const lead: Readonly<Record<Verdict, string>> = {
    conforms: '',
    violates: `The ${suite} violates the specification: `,
    harness: 'A check itself failed: ',
    unknown: 'Not everything could be judged: ',
    interrupted: 'Interrupted: ',
  };
  const figures = [
    `${counts.pass} of ${results.length - counts.skip} checks kept`,
    ...(violations > 0 ? [`${violations} violated`] : []),
    ...(advice > 0 ? [`${advice} advised`] : []),
    ...(counts.differs > 0 ? [`${counts.differs} differ${counts.differs === 1 ? 's' : ''}`] : []),
    ...(counts.harness > 0 ? [`${counts.harness} with an internal error`] : []),
    `${counts.skip + notRun.length} of ${results.length + notRun.length} not checked`,
  ];
  return lead[verdict] + figures.join(', ');
}
