import { INTEGRATION_CHECKS } from '../../src/integration/run-integration-suite.ts';
import { CONSUMER_CHECKS } from '../../src/receiver/checks/consumer.ts';
import { RECEIVER_CHECKS } from '../../src/receiver/run-receiver-suite.ts';
import { WRONG_CONSUMERS } from './consumers.ts';
import { WRONG_INTEGRATIONS } from './integrations.ts';
import { RIGHT_RECEIVERS, WRONG_RECEIVERS } from './receivers.ts';
import type { Wrong } from './wrong.ts';

export const CHECKS_PAGE = 'docs/appendix/checks.md';

type Checks = readonly {
  readonly tier: string;
  readonly id: string;
  readonly level: string;
  readonly rule: string;
}[];

/** Each check with the numbers of the faulty programs that fail it, followed by these programs. */
function buildTable(checks: Checks, wrong: Wrong<unknown>, title: string): readonly string[] {
  const failedBy = (id: string): string =>
    Object.values(wrong)
      .flatMap(({ fails }, index) => (fails.includes(id) ? [index + 1] : []))
      .join(', ');
  return [
    '| level | check | | rule | failed by |',
    '|---|---|---|---|---|',
    ...checks.map(
      ({ id, tier, level, rule }) => `| ${tier} | \`${id}\` | ${level} | ${rule} | ${failedBy(id)} |`,
    ),
    '',
    title,
    '',
    ...Object.keys(wrong).map((mistake, index) => `${index + 1}. ${mistake}`),
  ];
}

/** The page of docs/appendix with all checks, and the gallery of faulty programs that fail them. */
export function buildChecksPage(): string {
  return [
    '# The checks of certify',
    '',
    '<!-- Written by `npm run docs` from packages/certify. -->',
    '',
    '[certify.md](../certify.md) describes the levels and the options. A gallery of faulty programs proves that the checks work: each program is correct except for one mistake, and fails exactly the checks that the tables name. [`receivers.ts`](../../packages/certify/test/gallery/receivers.ts), [`consumers.ts`](../../packages/certify/test/gallery/consumers.ts) and [`integrations.ts`](../../packages/certify/test/gallery/integrations.ts) contain them.',
    '',
    '## Receivers',
    '',
    ...buildTable(RECEIVER_CHECKS, WRONG_RECEIVERS, 'The faulty receivers:'),
    '',
    'Each of these is correct in its own way, and passes:',
    '',
    ...RIGHT_RECEIVERS.map(({ name }) => `- It ${name}.`),
    '',
    '## HTTP consumers',
    '',
    'With `--profile standard-webhooks`:',
    '',
    ...buildTable(CONSUMER_CHECKS, WRONG_CONSUMERS, 'The faulty consumers:'),
    '',
    '## Integrations',
    '',
    ...buildTable(INTEGRATION_CHECKS, WRONG_INTEGRATIONS, 'The faulty integrations:'),
    '',
  ].join('\n');
}
