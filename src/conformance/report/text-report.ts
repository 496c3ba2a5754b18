import { styleText } from 'node:util';
import type { Evidence } from '../runner/exchange.ts';
import type { CheckResult } from '../runner/run-checks.ts';
import { conclude, type Report } from './report.ts';

const MARKS = { pass: '✓', fail: '✗', differs: '≠', skip: '–' } as const;
const COLOURS = { pass: 'green', fail: 'red', differs: 'yellow', skip: 'dim' } as const;

/** In color on a terminal, unless `NO_COLOR` is set. */
function markOf(result: CheckResult['result']): string {
  return styleText(COLOURS[result], MARKS[result], { stream: process.stdout });
}

/** One line per result, as it arrives. */
export function progressLine({ id, result, rule, level, reason, ms }: CheckResult): string {
  const why = result === 'skip' ? ` (${reason})` : '';
  const kind = result === 'fail' && level === 'should' ? ' [should]' : '';
  return `${markOf(result)} ${id.padEnd(36)} ${rule}${kind}${why}${ms >= 1000 ? ` ${(ms / 1000).toFixed(1)} s` : ''}`;
}

/** The report in plain text: failures and differences with their evidence, skipped checks by option. */
export function writeText(report: Report): string {
  const { results } = report;
  const told = results.filter(({ result }) => result === 'fail' || result === 'differs');
  const lines = [
    ...told.flatMap(describe),
    ...describeSkips(results),
    ...(report.notRun.length > 0 ? [`not run: ${countChecks(report.notRun.length)}`, ''] : []),
    ...report.leftBehind.map((what) => `left behind: ${what}`),
    styleText('bold', `${conclude(report)}.`, { stream: process.stdout }),
  ];
  return `${lines.join('\n')}\n`;
}

const TITLES = { must: 'violates', should: 'advised', reading: 'differs from our interpretation' } as const;

function describe(result: CheckResult): readonly string[] {
  const { id, section, rule, level, expected, actual, evidence } = result;
  return [
    `${markOf(result.result)} ${id}  ${TITLES[level]}: ${section}`,
    `  ${rule}`,
    `  expected  ${expected}`,
    `  found     ${actual}`,
    ...evidence.flatMap(describeEvidence).map((line) => `  ${line}`),
    '',
  ];
}

function describeEvidence(evidence: Evidence): readonly string[] {
  const { request, requestHeaders, requestBody, status, headers, body } = evidence;
  return [
    `request   ${request}`,
    ...Object.entries(requestHeaders)
      .filter(([name]) => name !== 'content-type')
      .map(([name, value]) => `          ${name}: ${value}`),
    ...(requestBody === undefined ? [] : [`          ${requestBody}`]),
    `answer    ${status} ${Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}`)
      .join(', ')}`,
    ...(body === undefined ? [] : [`          ${body}`]),
  ];
}

function describeSkips(results: readonly CheckResult[]): readonly string[] {
  const locked = results.filter(({ result, unlock }) => result === 'skip' && unlock !== undefined);
  const byOption = Map.groupBy(locked, ({ unlock }) => unlock);
  const lines = [...byOption].map(([option, of]) => `  ${option}: ${countChecks(of.length)}`);
  return lines.length === 0 ? [] : ['not checked; requires', ...lines, ''];
}

function countChecks(count: number): string {
  return count === 1 ? '1 check' : `${count} checks`;
}
