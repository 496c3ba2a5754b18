import { escapeMarkup } from '../../../../src/runtime/page/escape-markup.ts';
import type { CheckResult } from '../runner/run-checks.ts';
import { groupByArea, type Report } from './report.ts';

/** The report as JUnit XML. A check that differs from a reading passes, and its output says so. */
export function writeJunit(report: Report): string {
  const { results, counts, ms, suite, startedAt } = report;
  const suites = [...groupByArea(results)].map(([area, of]) => writeSuite(area, of, startedAt));
  const totals = `tests="${results.length}" failures="${counts.fail}" skipped="${counts.skip}" errors="${counts.harness}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="${escapeMarkup(`conformance ${suite}`)}" ${totals} time="${seconds(ms)}">`,
    ...suites,
    '</testsuites>',
    '',
  ].join('\n');
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

function writeSuite(area: string, results: readonly CheckResult[], startedAt: string): string {
  const count = (result: string): number => results.filter((one) => one.result === result).length;
  const total = results.reduce((sum, { ms }) => sum + ms, 0);
  const totals = `tests="${results.length}" failures="${count('fail')}" skipped="${count('skip')}" errors="${count('harness')}"`;
  const when = `timestamp="${escapeMarkup(startedAt)}" time="${seconds(total)}"`;
  return [
    `  <testsuite name="${escapeMarkup(area)}" ${totals} ${when}>`,
    ...results.map(writeCase),
    '  </testsuite>',
  ].join('\n');
}

function writeCase(result: CheckResult): string {
  const { id, section, rule, ms } = result;
  const name = `name="${escapeMarkup(`${id}: ${rule}`)}"`;
  const open = `    <testcase classname="${escapeMarkup(section)}" ${name} time="${seconds(ms)}"`;
  const inner = writeInner(result);
  return inner === undefined ? `${open}/>` : `${open}>${inner}</testcase>`;
}

function writeInner(result: CheckResult): string | undefined {
  const { expected, actual, evidence, reason = '', unlock, level, hint } = result;
  if (result.result === 'pass') return undefined;
  if (result.result === 'skip') {
    const message = unlock === undefined ? reason : `${reason} (${unlock})`;
    return `<skipped message="${escapeMarkup(message)}"/>`;
  }
  if (result.result === 'harness')
    return `<error message="internal error of the check">${escapeMarkup(reason)}</error>`;
  const advice = hint === undefined ? '' : `. ${hint}`;
  const message = escapeMarkup(`expected ${expected}, found ${actual}${advice}`);
  const shown = escapeMarkup(JSON.stringify(evidence, null, 2));
  if (result.result === 'differs')
    return `<system-out>differs from our interpretation: ${message}\n${shown}</system-out>`;
  return `<failure type="${level}" message="${message}">${shown}</failure>`;
}
