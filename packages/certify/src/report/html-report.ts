import { escapeMarkup as safe } from '../../../../src/runtime/page/escape-markup.ts';
import type { Evidence } from '../runner/exchange.ts';
import type { CheckResult } from '../runner/run-checks.ts';
import { STYLE } from './html-style.ts';
import { conclude, groupByArea, type Report } from './report.ts';

const KINDS = [
  ['pass', 'kept'],
  ['fail', 'failed'],
  ['differs', 'differ from our interpretation'],
  ['skip', 'not checked'],
  ['harness', 'internal errors'],
] as const;

/** The report as one self-contained page: no scripts, fonts or images. */
export function writeHtml(report: Report): string {
  const { target, suite, profile, startedAt, ms, leftBehind, notRun } = report;
  const facts = `${profile} · ${startedAt.replace('T', ' ').slice(0, 19)} UTC · ${(ms / 1000).toFixed(1)} s`;
  const remarks = [
    ...(notRun.length > 0 ? [`${notRun.length} checks did not run because the run was interrupted.`] : []),
    ...leftBehind.map((what) => `Left behind: ${what}`),
  ];
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${safe(`Conformance of ${target}`)}</title>
<style>${STYLE}</style>
<main>
<h1>${safe(conclude(report))}</h1>
<p class="soft"><code>${safe(target)}</code> · ${safe(suite)} · ${safe(facts)}</p>
${remarks.map((remark) => `<p>${safe(remark)}</p>`).join('\n')}
${writeOverview(report)}
${[...groupByArea(report.results)].map(([area, of]) => writeArea(area, of)).join('\n')}
</main>
</html>
`;
}

function writeOverview({ counts }: Report): string {
  const bars = KINDS.filter(([kind]) => counts[kind] > 0).map(
    ([kind, name]) => `<i class="${kind}" style="flex:${counts[kind]}" title="${counts[kind]} ${name}"></i>`,
  );
  const legend = KINDS.filter(([kind]) => kind !== 'harness' || counts[kind] > 0).map(
    ([kind, name]) =>
      `<label class="${kind}"><input type="checkbox" id="show-${kind}" checked>` +
      `<span class="dot"></span> ${counts[kind]} ${name}</label>`,
  );
  return `<div class="bar">${bars.join('')}</div>\n<div class="legend">${legend.join('\n')}</div>`;
}

function writeArea(area: string, results: readonly CheckResult[]): string {
  const kept = results.filter(({ result }) => result === 'pass').length;
  return `<h2>${safe(area)} <small>${kept} of ${results.length} kept</small></h2>
<div class="list">
${results.map(writeResult).join('\n')}
</div>`;
}

function writeResult(result: CheckResult): string {
  const { id, rule, ms } = result;
  const isReported = /^(?:fail|differs|harness)$/.test(result.result);
  return `<details class="${result.result}"${isReported ? ' open' : ''}><summary><span class="dot"></span>\
<code>${safe(id)}</code><span class="rule">${safe(rule)}</span><span class="time">${result.result === 'skip' ? '' : `${ms} ms`}</span></summary>
<div class="more">${writeFacts(result)}${result.evidence.map((one) => writeEvidence(one, isReported)).join('')}</div>
</details>`;
}

function writeFacts(result: CheckResult): string {
  const rows: readonly (readonly [string, string | undefined, string?])[] = [
    ['section', `${result.section} (${result.level})`],
    ['expected', result.expected],
    ['found', result.actual, 'found'],
    [result.result === 'harness' ? 'error' : 'skipped', result.reason],
    ['unlock', result.unlock],
    ['hint', result.hint],
    ['repeat', result.repeat],
    ...result.notes.map((note) => ['note', note] as const),
  ];
  const cells = rows.flatMap(([name, value, kind]) =>
    value === undefined ? [] : [`<dt>${name}</dt><dd${kind ? ` class="${kind}"` : ''}>${safe(value)}</dd>`],
  );
  return `<dl>${cells.join('')}</dl>`;
}

function writeEvidence(evidence: Evidence, whole: boolean): string {
  const { request, requestHeaders, requestBody, status, headers, body, ms } = evidence;
  const first = `${request} → ${status}, ${ms} ms`;
  if (!whole) return `<div class="soft"><code>${safe(first)}</code></div>`;
  const lines = [
    first,
    ...Object.entries(requestHeaders).map(([name, value]) => `> ${name}: ${value}`),
    ...(requestBody === undefined ? [] : [`> ${requestBody}`]),
    ...Object.entries(headers).map(([name, value]) => `< ${name}: ${value}`),
    ...(body === undefined ? [] : [`< ${body}`]),
  ];
  return `<pre>${safe(lines.join('\n'))}</pre>`;
}
