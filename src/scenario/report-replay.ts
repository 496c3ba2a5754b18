import { escapeMarkup } from '../runtime/page/escape-markup.ts';
import { showOffset, summarize } from './describe-cause.ts';
import { type Difference, describeDifference, nameObserved } from './observe.ts';
import type { Scenario } from './scenario.ts';

/** The differences of a replay in plain text, each with the cause behind it. */
export function writeDifferences(scenario: Scenario, differences: readonly Difference[]): string {
  const lines = differences.flatMap(({ of, field, expected, actual, cause }) => [
    `✗ ${of}`,
    `  field     ${field}`,
    `  expected  ${expected}`,
    `  actual    ${actual}`,
    ...(cause === null ? [] : [`  cause     ${describeCause(scenario, cause)}`]),
    '',
  ]);
  const repeated = `${scenario.causes.length} ${scenario.causes.length === 1 ? 'cause' : 'causes'} repeated`;
  const found =
    differences.length === 0
      ? 'no difference'
      : `${differences.length} ${differences.length === 1 ? 'difference' : 'differences'}`;
  return [...lines, `${repeated}, ${scenario.observations.length} observations compared: ${found}.`, ''].join(
    '\n',
  );
}

function describeCause({ causes }: Scenario, number: number): string {
  const found = causes.find(({ cause }) => cause === number);
  if (found === undefined) return String(number);
  return `${number} at ${showOffset(found.at)}: ${summarize(found) ?? `${found.method} /${found.surface}${found.path}`}`;
}

/** A replay as JUnit XML: one test case for each observation, and one for each other difference. */
export function writeReplayJunit(scenario: Scenario, differences: readonly Difference[]): string {
  const names = new Set([...scenario.observations.map(nameObserved), ...differences.map(({ of }) => of)]);
  const byName = Map.groupBy(differences, ({ of }) => of);
  const cases = [...names].map((name) => {
    const open = `    <testcase classname="scenario" name="${escapeMarkup(name)}"`;
    const failures = (byName.get(name) ?? []).map(
      (difference) => `<failure message="${escapeMarkup(describeDifference(difference))}"/>`,
    );
    return failures.length === 0 ? `${open}/>` : `${open}>${failures.join('')}</testcase>`;
  });
  const totals = `tests="${names.size}" failures="${byName.size}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${totals}>`,
    `  <testsuite name="scenario" ${totals}>`,
    ...cases,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}
