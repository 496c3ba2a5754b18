import { styleText } from 'node:util';
import type { Report, Verdict } from '../connector/doctor/finding.ts';
import { count } from '../connector/state/wording.ts';

const MARKS: Readonly<Record<Verdict, string>> = {
  ok: 'ok',
  warning: 'warning',
  problem: 'PROBLEM',
  not_checked: '-',
};
const COLOURS = { ok: 'green', warning: 'yellow', problem: 'red', not_checked: 'dim' } as const;
const MARK_WIDTH = 9;
const INDENT = ' '.repeat(MARK_WIDTH);

export function countVerdicts(reports: readonly Report[]): Readonly<Record<Verdict, number>> {
  const of = (verdict: Verdict): number => reports.filter((report) => report.verdict === verdict).length;
  return { ok: of('ok'), warning: of('warning'), problem: of('problem'), not_checked: of('not_checked') };
}

/** All reports as text: one line for each that is ok, evidence and advice for the others, and a summary. */
export function writeReports(reports: readonly Report[]): string {
  const several = new Set(reports.flatMap(({ accountId }) => accountId ?? [])).size > 1;
  const lines = joinSkipped(reports, several).map((report) => writeReport(report));
  return `${[...lines, '', ...summarize(reports, several)].join('\n')}\n`;
}

/** A report under the name, or the names, that it is printed with. */
type Named = Pick<Report, 'verdict' | 'says' | 'evidence' | 'advice'> & { readonly names: readonly string[] };

/** Consecutive checks that were skipped for the same reason share one line. */
function joinSkipped(reports: readonly Report[], several: boolean): readonly Named[] {
  const joined: Named[] = [];
  for (const report of reports) {
    const name = nameOf(report, several);
    const last = joined.at(-1);
    const same =
      report.verdict === 'not_checked' && last?.verdict === 'not_checked' && last.says === report.says;
    if (same) joined.splice(-1, 1, { ...last, names: [...last.names, name] });
    else joined.push({ ...report, names: [name] });
  }
  return joined;
}

function writeReport({ verdict, says, evidence, advice, names }: Named): string {
  // In color on a terminal, unless NO_COLOR is set.
  const mark = styleText(COLOURS[verdict], MARKS[verdict].padEnd(MARK_WIDTH), { stream: process.stdout });
  const first = `${mark}${names.join(', ')}: ${says}`;
  if (verdict === 'ok') return [first, ...evidence].join(' ');
  if (verdict === 'not_checked') return first;
  return [
    first,
    ...evidence.map((line) => `${INDENT}  ${line}`),
    ...advice.map((line) => `${INDENT}> ${line}`),
  ].join('\n');
}

function nameOf({ check, accountId }: Report, several: boolean): string {
  return several && accountId !== undefined ? `${check} of ${accountId}` : check;
}

function summarize(reports: readonly Report[], several: boolean): string[] {
  const { ok, warning, problem, not_checked } = countVerdicts(reports);
  const counts = `${count(problem, 'problem')}, ${count(warning, 'warning')}, ${ok} ok, ${not_checked} not checked.`;
  const first =
    reports.find(({ verdict }) => verdict === 'problem') ??
    reports.find(({ verdict }) => verdict === 'warning');
  if (first === undefined) return [counts];
  const [advice] = first.advice;
  const begin = `Start with ${nameOf(first, several)}: ${first.says}`;
  return [counts, advice === undefined ? begin : `${begin} ${advice}`];
}
