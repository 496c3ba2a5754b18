import { ASSUMPTIONS } from '../../src/platform/assumptions.ts';
import { REQUIREMENTS } from '../requirements.ts';
import { type Citation, readCitations } from '../support/citations.ts';
import { CHOICES_HEADING } from './choices.ts';
import type { Requirement, RequirementKind } from './requirement.ts';

/** Path of the page from the root of the project. */
export const FIDELITY_PAGE = 'docs/fidelity.md';

/** Tests that are named beside a rule; the others are counted. */
const NAMED_TESTS = 2;

const isChoice = ({ section }: Requirement): boolean => section === CHOICES_HEADING;
const SAID = REQUIREMENTS.filter((requirement) => !isChoice(requirement));
const CHOSEN = REQUIREMENTS.filter(isChoice);

function count(requirements: readonly Requirement[], kind: RequirementKind): number {
  return requirements.filter((requirement) => requirement.kind === kind).length;
}

/** Text that Markdown takes as text, inside a table, too. */
function plain(text: string): string {
  return text.replace(/[\\|[\]<>*_]/g, (sign) => `\\${sign}`).replace(/\s+/g, ' ');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(heads), `|${heads.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}

function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');
}

/** The name of a test; `…` stands for what each of its rows fills in. */
function nameOf({ name }: Citation): string {
  return plain(name.join(': ').replace(/%[sdifjoO]|\$[a-z]\w*/g, '…'));
}

/** The tests of each rule: those over the wire before those of the contract, the most particular ones first. */
function groupTests(citations: readonly Citation[]): (id: string) => string {
  const keyOf = ({ file, name }: Citation): string => [file, ...name].join('\n');
  const citedBy = Map.groupBy(citations, keyOf);
  const byRule = Map.groupBy(citations, ({ id }) => id);
  const isOfContract = ({ file }: Citation): boolean => file.startsWith('test/contract/');
  const breadth = (citation: Citation): number => citedBy.get(keyOf(citation))?.length ?? 0;
  return (id) => {
    const tests = [...new Map(byRule.get(id)?.map((citation) => [keyOf(citation), citation])).values()];
    const best = tests.toSorted(
      (a, b) =>
        Number(isOfContract(a)) - Number(isOfContract(b)) ||
        breadth(a) - breadth(b) ||
        (keyOf(a) < keyOf(b) ? -1 : 1),
    );
    const named = best.slice(0, NAMED_TESTS).map((citation) => `[${nameOf(citation)}](../${citation.file})`);
    const others = best.length - named.length;
    return [...named, ...(others > 0 ? [`and ${others} more`] : [])].join('<br>');
  };
}

function proven(requirements: readonly Requirement[], testsOf: (id: string) => string): string {
  const rows = requirements
    .filter(({ kind }) => kind === 'proven')
    .map(({ id, rule }) => [`${cell(rule)}<br><sub>${id}</sub>`, testsOf(id)]);
  return table(['rule', 'test'], rows);
}

function open(kind: RequirementKind): string {
  const rows = REQUIREMENTS.filter((requirement) => requirement.kind === kind).map(
    ({ id, section, rule, reason = '' }) => [section, `${cell(rule)}<br><sub>${id}</sub>`, cell(reason)],
  );
  return table(['part', 'rule', 'why'], rows);
}

const UNITS = [
  [86_400_000, 'day', 'days'],
  [3_600_000, 'hour', 'hours'],
  [60_000, 'minute', 'minutes'],
  [1_000, 's', 's'],
  [1, 'ms', 'ms'],
] as const;

function duration(ms: number): string {
  const [size, one, many] = UNITS.find(([unit]) => ms >= unit && ms % unit === 0) ?? [1, 'ms', 'ms'];
  return `${ms / size} ${ms === size ? one : many}`;
}

/** A value for people; numbers under a name that ends in `Ms` are durations. */
function show(name: string, value: unknown): string {
  if (typeof value === 'number') return /Ms$/.test(name) ? duration(value) : value.toLocaleString('en');
  if (typeof value === 'string') return value === '\uFFFD' ? 'U+FFFD' : value.replaceAll('`', '');
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (value === null) return 'never';
  if (Array.isArray(value)) return value.map((entry) => show(name, entry)).join(', ');
  const inherited = /Ms$/.test(name) ? 'Ms' : '';
  return Object.entries(value as object)
    .map(([key, entry]) => `${key.replace(/Ms$/, '')} ${show(key + inherited, entry)}`)
    .join('; ');
}

function values(): string {
  const rows = Object.entries(ASSUMPTIONS).map(([name, { value, because }]) => [
    `\`${name}\``,
    plain(show(name, value)),
    cell(because),
  ]);
  return table(['name', 'value', 'why'], rows);
}

function contents(sections: readonly string[]): string {
  const rows = sections.map((heading) => {
    const own = SAID.filter(({ section }) => section === heading);
    const provenHere = count(own, 'proven');
    const name = provenHere === 0 ? heading : `[${heading}](#${anchor(heading)})`;
    return [name, String(provenHere), String(count(own, 'not_modelled'))];
  });
  const sum = (kind: RequirementKind): string => `**${count(SAID, kind)}**`;
  return table(
    ['part of the specification', 'proven', 'not modelled'],
    [...rows, ['**all**', sum('proven'), sum('not_modelled')]],
  );
}

/** Writes `docs/fidelity.md`: what is proven by which test, what is our choice, what is missing. */
export function buildFidelityPage(): string {
  const testsOf = groupTests(readCitations().citations);
  const sections = [...new Set(SAID.map(({ section }) => section))];
  const withProofs = sections.filter((heading) =>
    SAID.some(({ section, kind }) => section === heading && kind === 'proven'),
  );
  const choices = Object.keys(ASSUMPTIONS).length + CHOSEN.length;
  return `${[
    '# Fidelity',
    '<!-- Written by `npm run docs`. Change test/requirements, src/platform/assumptions.ts or the tests. -->',
    [
      `- The specification has ${SAID.length} rules here. Tests prove ${count(SAID, 'proven')}, ${count(SAID, 'not_modelled')} are not modelled.`,
      '- Proven: at least one test that runs with `npm test` and is never skipped would fail. Its name stands beside the rule.',
      `- Where the specification is silent or says two things we chose. All ${choices} choices stand below; the real service may differ there.`,
      '- Real: HTTP, Postgres, credentials, licences, signed deliveries, pictures that scan. Simulated: the phone network behind them.',
      '- The specification was the only source. Nothing here was compared with the real service.',
    ].join('\n'),
    '## Contents',
    contents(sections),
    `[Our choice](#our-choice): ${CHOSEN.length} [readings](#readings), ${Object.keys(ASSUMPTIONS).length} [values](#values) · [Not modelled](#not-modelled)`,
    '## Proven',
    ...withProofs.flatMap((heading) => [
      `### ${heading}`,
      proven(
        SAID.filter(({ section }) => section === heading),
        testsOf,
      ),
    ]),
    '## Our choice',
    '### Readings',
    proven(CHOSEN, testsOf),
    '### Values',
    'Each stands once, in [assumptions.ts](../src/platform/assumptions.ts).',
    values(),
    '## Not modelled',
    open('not_modelled'),
  ].join('\n\n')}\n`;
}
