import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { readProjectFile, writeTable } from '../../support/markdown.ts';
import { ROOT } from '../../support/root.ts';

interface Chapter {
  readonly chapter: string;
  readonly about?: string;
  readonly rows: readonly { readonly id: string; readonly state: string; readonly because: string }[];
}

interface MetricRow {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly measures: string;
  readonly normal: string;
}

const read = (name: string) => parse(readProjectFile(`test/docs/appendix/${name}.yaml`));

export const CHAPTERS: readonly Chapter[] = read('asvs');
export const GROUPS: readonly {
  readonly towards: string;
  readonly promises: readonly { readonly promise: string; readonly tests: string }[];
}[] = read('promises');
const METRICS: readonly MetricRow[] = read('metrics');

export const METRICS_PAGE = 'docs/appendix/metrics.md';
export const SECURITY_PAGE = 'docs/appendix/security.md';

const asPage = (...parts: readonly string[]): string => `${parts.join('\n\n')}\n`;

function buildMetrics(): string {
  const rows = METRICS.map(({ name, type, labels, measures, normal }) => [
    `\`${name}\``,
    type,
    labels.map((label) => `\`${label}\``).join(', '),
    measures,
    normal,
  ]);
  return asPage(
    '# Metrics',
    '<!-- Written by `npm run docs` from test/docs/appendix/metrics.yaml. -->',
    '[operations.md](../operations.md#metrics) describes how to read them.',
    writeTable(['metric', 'type', 'labels', 'measures', 'normal value'], rows),
  );
}

function buildSecurity(): string {
  return asPage(
    '# Evidence for the security of the connector',
    '<!-- Written by `npm run docs` from test/docs/appendix/promises.yaml and asvs.yaml. -->',
    '[security.md](../security.md) has the threat model, the promises and what is not promised. Test paths are relative to `test/`.',
    '## Promises and their tests',
    ...GROUPS.map(({ towards, promises }) =>
      writeTable(
        [towards, 'test'],
        promises.map(({ promise, tests }) => [promise, tests]),
      ),
    ),
    '## OWASP ASVS 5.0.0, levels 1 and 2',
    '`Met` names the test, the code or the setting that meets the requirement. `Service:` marks what concerns only the local service, and `Sandbox:` its control API. `Not met` gives the reason.',
    ...CHAPTERS.flatMap(({ chapter, about, rows }) => [
      `### ${chapter}`,
      ...(about === undefined ? [] : [about]),
      writeTable(
        ['id', 'state', 'evidence or reason'],
        rows.map(({ id, state, because }) => [id, state, because]),
      ),
    ]),
  );
}

/** The pages of docs/appendix that are written from data beside this file, by their path from the root. */
export function buildAppendix(): Readonly<Record<string, string>> {
  return { [METRICS_PAGE]: buildMetrics(), [SECURITY_PAGE]: buildSecurity() };
}

if (import.meta.main)
  for (const [path, text] of Object.entries(buildAppendix())) writeFileSync(join(ROOT, path), text);
