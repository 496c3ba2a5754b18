import { styleText } from 'node:util';
import type { Evidence } from '../runner/exchange.ts';
import type { CheckResult } from '../runner/run-checks.ts';
import { conclude, type Report } from './report.ts';

/** The words of the results. A recommendation has its own word. */
const WORDS = {
  pass: ['PASS', 'green'],
  fail: ['FAIL', 'red'],
  advice: ['WARN', 'yellow'],
  differs: ['DIFFERS', 'yellow'],
  skip: ['UNKNOWN', 'dim'],
  harness: ['HARNESS', 'magenta'],
} as const;
const WIDEST = 'UNKNOWN'.length;

/** In color on a terminal, unless `NO_COLOR` is set. */
function wordOf({ result, level }: CheckResult, width = 0): string {
  const [word, color] = WORDS[result === 'fail' && level === 'should' ? 'advice' : result];
  return styleText(color, word.padEnd(width), { stream: process.stdout });
}

/** One line per result, as it arrives. */
export function progressLine(outcome: CheckResult): string {
  const { id, result, rule, reason, ms } = outcome;
  const why = result === 'skip' ? ` (${reason})` : '';
  return `${wordOf(outcome, WIDEST)}  ${id.padEnd(36)} ${rule}${why}${ms >= 1000 ? ` ${(ms / 1000).toFixed(1)} s` : ''}`;
}

/** The report in plain text: failures and differences with their evidence, skipped checks by option. */
export function writeText(report: Report): string {
  const { results } = report;
  const reported = results.filter(({ result }) => /^(?:fail|differs|harness)$/.test(result));
  const lines = [
    ...reported.flatMap((result) => describe(result, reported)),
    ...describeSkips(results),
    ...(report.notRun.length > 0 ? [`not run: ${countChecks(report.notRun.length)}`, ''] : []),
    ...report.leftBehind.map((what) => `left behind: ${what}`),
    styleText('bold', `${conclude(report)}.`, { stream: process.stdout }),
  ];
  return `${lines.join('\n')}\n`;
}

const TITLES = { must: 'violates', should: 'advised', reading: 'differs from our interpretation' } as const;

/** A finding. A hint that several have is written at the first of them. */
function describe(result: CheckResult, all: readonly CheckResult[]): readonly string[] {
  const { id, section, rule, level, expected, actual, hint, repeat, evidence } = result;
  const first = all.find((other) => hint !== undefined && other.hint === hint);
  const shownHint = first === undefined || first === result ? hint : `as for ${first.id}`;
  if (result.result === 'harness') {
    return [`${wordOf(result)}  ${id}  internal error`, `  ${rule}`, `  ${result.reason}`, ''];
  }
  return [
    `${wordOf(result)}  ${id}  ${TITLES[level]}: ${section}`,
    `  ${rule}`,
    `  expected  ${expected}`,
    `  found     ${actual}`,
    ...evidence.flatMap(describeEvidence).map((line) => `  ${line}`),
    ...(shownHint === undefined ? [] : [`  hint      ${shownHint}`]),
    ...(repeat === undefined ? [] : [`  repeat    ${repeat}`]),
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
    ...(requestBody ? [`          ${requestBody}`] : []),
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
