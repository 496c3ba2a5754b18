import { ASSUMPTIONS, type Assumption, TOPICS } from '../../src/platform/kernel/assumptions.ts';
import { REQUIREMENTS } from '../requirements.ts';
import { writeTable } from '../support/markdown.ts';
import { CHOICES_HEADING } from './choices.ts';

const FIDELITY_PAGE = 'docs/fidelity.md';
export const CHOICES_PAGE = 'docs/appendix/choices.md';

const SAID = REQUIREMENTS.filter(({ section }) => section !== CHOICES_HEADING);

/** Escapes text for Markdown, including tables. */
function plain(text: string): string {
  return text.replace(/[\\|[\]<>*_]/g, (sign) => `\\${sign}`).replace(/\s+/g, ' ');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
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
  return [`## ${topic}`, writeTable(['Rule', 'Value', 'Why'], rows)];
}

/** Both pages, by their path: what is not modeled, and in the appendix every choice that the specification leaves open. */
export function buildFidelityPages(): Readonly<Record<string, string>> {
  const missing = SAID.filter(({ kind }) => kind === 'not_modeled');
  const page = [
    '# Fidelity',
    '<!-- Written by `npm run docs` from test/requirements and src/platform/kernel/assumptions.ts. -->',
    `The specification breaks down into ${SAID.length} rules. Tests prove ${SAID.length - missing.length} of them; ${missing.length} are not modeled. After \`CI=true npm test\`, \`npm run proven -- --table\` lists the rules with the tests that prove them.`,
    'HTTP, Postgres, credentials, licenses, signed deliveries and scannable QR codes are real. The phone network behind them is simulated. The specification was the only source: nothing here has been compared with the real service.',
    `The specification is silent or ambiguous in ${Object.keys(ASSUMPTIONS).length} places. The real service may differ in each of them: [the appendix](appendix/choices.md) lists what the service of this package does there, and why.`,
    '## Not modeled',
    writeTable(
      ['Part', 'Rule', 'Why'],
      missing.map(({ section, rule, reason = '' }) => [section, cell(rule), cell(reason)]),
    ),
  ];
  const choices = [
    '# Choices where the specification is silent',
    '<!-- Written by `npm run docs` from src/platform/kernel/assumptions.ts. -->',
    'The real service may differ in each of these choices ([fidelity.md](../fidelity.md)). They and their values are defined once, in [assumptions.ts](../../src/platform/kernel/assumptions.ts). Tests prove those with an id that begins with `choice.`.',
    ...Object.entries(TOPICS).flatMap(listChoices),
  ];
  return { [FIDELITY_PAGE]: `${page.join('\n\n')}\n`, [CHOICES_PAGE]: `${choices.join('\n\n')}\n` };
}
