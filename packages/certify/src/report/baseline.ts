import { type Conclusion, createReport, type Report, type Verdict } from './report.ts';

/** The ids of a baseline: one per line; a line that starts with # is a remark. */
export function readBaseline(text: string): ReadonlySet<string> {
  const lines = text.split('\n').map((line) => line.trim());
  return new Set(lines.filter((line) => line !== '' && !line.startsWith('#')));
}

function violated({ results }: Report): readonly string[] {
  return results.filter(({ result, level }) => result === 'fail' && level === 'must').map(({ id }) => id);
}

/** A baseline with every rule that the report shows as violated. */
export function writeBaseline(report: Report): string {
  const lines = [
    '# Checks that may fail. One that no longer does is a failure: remove its line.',
    ...violated(report),
  ];
  return `${lines.join('\n')}\n`;
}

/** What a report has that the baseline does not expect, and what the baseline expects although it is kept now. */
export function applyBaseline(
  report: Report,
  baseline: ReadonlySet<string>,
): { readonly unexpected: readonly string[]; readonly fixed: readonly string[] } {
  const kept = report.results.filter(({ result }) => result === 'pass').map(({ id }) => id);
  return {
    unexpected: violated(report).filter((id) => !baseline.has(id)),
    fixed: kept.filter((id) => baseline.has(id)),
  };
}

/** The verdict on everything but the violations that the baseline expects. */
export function judgeBeside(report: Report, baseline: ReadonlySet<string>, conclusion: Conclusion): Verdict {
  const expected = violated(report).filter((id) => baseline.has(id));
  const results = report.results.filter(({ id }) => !expected.includes(id));
  return createReport({ ...report, results }, conclusion).verdict;
}
