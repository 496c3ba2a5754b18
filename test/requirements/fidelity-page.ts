import { ASSUMPTIONS, type Assumption, TOPICS } from '../../src/platform/kernel/assumptions.ts';
import { REQUIREMENTS } from '../requirements.ts';
import { CHOICES_HEADING } from './choices.ts';

/** Path of the page from the root of the project. */
export const FIDELITY_PAGE = 'docs/fidelity.md';

const SAID = REQUIREMENTS.filter(({ section }) => section !== CHOICES_HEADING);

/** Escapes text for Markdown, including tables. */
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

/** Formats a value for people. Numbers with a name that ends in `Ms` are durations. */
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

function listChoices([topic, choices]: [string, Readonly<Record<string, Assumption>>]): readonly string[] {
  const rows = Object.entries(choices).map(([name, { id = name, rule, value, because = '' }]) => [
    `${cell(rule)} <sub>${id}</sub>`,
    value === undefined ? '' : plain(show(name, value)),
    cell(because),
  ]);
  return [`### ${topic}`, table(['Rule', 'Value', 'Why'], rows)];
}

/** Writes `docs/fidelity.md`: what is not modeled, and every choice that the specification leaves open. */
export function buildFidelityPage(): string {
  const missing = SAID.filter(({ kind }) => kind === 'not_modeled');
  return `${[
    '# Fidelity',
    '<!-- Written by `npm run docs` from test/requirements and src/platform/kernel/assumptions.ts. -->',
    `The specification breaks down into ${SAID.length} rules. Tests prove ${SAID.length - missing.length} of them; ${missing.length} are not modeled. \`npm run proven -- --table\` lists the rules with the tests of your last run that prove them.`,
    'HTTP, Postgres, credentials, licenses, signed deliveries and scannable QR codes are real. The phone network behind them is simulated. The specification was the only source: nothing here has been compared with the real service.',
    '## Not modeled',
    table(
      ['Part', 'Rule', 'Why'],
      missing.map(({ section, rule, reason = '' }) => [section, cell(rule), cell(reason)]),
    ),
    '## Choices',
    `The specification is silent or ambiguous in ${Object.keys(ASSUMPTIONS).length} places. The real service may differ in each of them. All choices and their values are defined once, in [assumptions.ts](../src/platform/kernel/assumptions.ts). Tests prove those with an id that begins with \`choice.\`.`,
    ...Object.entries(TOPICS).flatMap(listChoices),
  ].join('\n\n')}\n`;
}
