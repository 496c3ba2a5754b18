import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../../test/support/root.ts';
import { INTEGRATION_CHECKS } from '../../src/integration/run-integration-suite.ts';
import { RECEIVER_CHECKS } from '../../src/receiver/run-receiver-suite.ts';
import { WRONG_INTEGRATIONS } from './integrations.ts';
import { RIGHT_RECEIVERS, WRONG_RECEIVERS } from './receivers.ts';

export const CERTIFY_PAGE = 'docs/certify.md';
const BEGIN = '<!-- written by npm run docs -->';
const END = '<!-- end -->';

/** The faulty programs of the gallery. */
type Wrong = readonly { readonly mistake: string; readonly fails: readonly string[] }[];
type Checks = readonly {
  readonly tier: string;
  readonly id: string;
  readonly level: string;
  readonly rule: string;
}[];

/** Each check with the numbers of the faulty programs that fail it, followed by these programs. */
function buildTable(checks: Checks, wrong: Wrong, title: string): readonly string[] {
  const failedBy = (id: string): string =>
    wrong.flatMap(({ fails }, index) => (fails.includes(id) ? [index + 1] : [])).join(', ');
  return [
    '| level | check | | rule | failed by |',
    '|---|---|---|---|---|',
    ...checks.map(
      ({ id, tier, level, rule }) => `| ${tier} | \`${id}\` | ${level} | ${rule} | ${failedBy(id)} |`,
    ),
    '',
    title,
    '',
    ...wrong.map(({ mistake }, index) => `${index + 1}. ${mistake}`),
  ];
}

function buildMatrix(): string {
  return [
    ...buildTable(RECEIVER_CHECKS, WRONG_RECEIVERS, 'The faulty receivers:'),
    '',
    'Each of these is correct in its own way, and passes:',
    '',
    ...RIGHT_RECEIVERS.map(({ name }) => `- It ${name}.`),
    '',
    ...buildTable(INTEGRATION_CHECKS, WRONG_INTEGRATIONS, 'The faulty integrations:'),
  ].join('\n');
}

/** The page with the current matrix. */
export function buildCertifyPage(): string {
  const page = readFileSync(join(ROOT, CERTIFY_PAGE), 'utf8');
  const [before, rest] = page.split(BEGIN);
  const [, after] = rest?.split(END) ?? [];
  if (before === undefined || after === undefined)
    throw new Error(`${CERTIFY_PAGE} has no place for the matrix`);
  return `${before}${BEGIN}\n${buildMatrix()}\n${END}${after}`;
}
