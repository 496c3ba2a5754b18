import { describe, expect, it } from 'vitest';
import { escapeMarkup } from '../../../src/runtime/page/escape-markup.ts';
import { applyBaseline, readBaseline, writeBaseline } from '../src/report/baseline.ts';
import { writeHtml } from '../src/report/html-report.ts';
import { writeJunit } from '../src/report/junit-report.ts';
import { createReport } from '../src/report/report.ts';
import { progressLine, writeText } from '../src/report/text-report.ts';
import { describeExchange, type Exchange } from '../src/runner/exchange.ts';
import type { CheckResult } from '../src/runner/run-checks.ts';
import { createSecretBook } from '../src/runner/secret-book.ts';

const exchange: Exchange = {
  as: 'API key',
  method: 'POST',
  path: '/messages?key=very-secret',
  requestHeaders: { authorization: 'Bearer very-secret', 'content-type': 'application/json' },
  requestBody: '{"to":"447700900301","text":"Private words"}',
  status: 200,
  headers: new Headers({ 'content-type': 'application/json', 'www-authenticate': 'very-secret', date: 'x' }),
  text: '{}',
  json: {
    text: 'Private words',
    mediaUrl: 'https://x.example/file',
    media_url: 'https://x.example/other',
    caption: 'Private',
    label: 'Anna',
    name: 'Anna',
    code: 'ABCD-EFGH',
    secret: 'whsec',
    qr: `data:image/png;base64,${'A'.repeat(99)}`,
    id: 'c1',
  },
  ms: 12.4,
};

const { add, hide } = createSecretBook();
add('very-secret', 'API key');

function result(fields: Partial<CheckResult>): CheckResult {
  const rule = 'A rule with <b>, & and "quotes".';
  const fixed = { id: 'area.one', section: 'Somewhere', rule, level: 'must', result: 'pass', ms: 3 } as const;
  return { ...fixed, notes: [], evidence: [], ...fields };
}

const evidence = [describeExchange(exchange, hide, true)];
const results = [
  result({}),
  result({ id: 'area.two', result: 'fail', expected: 'this & that', actual: '\u0000<that>', evidence }),
  result({ id: 'area.three', result: 'fail', level: 'should', expected: 'a', actual: 'b' }),
  result({ id: 'other.one', result: 'differs', level: 'reading', expected: 'a', actual: 'b', evidence }),
  result({ id: 'other.two', result: 'skip', reason: 'needs more', unlock: '--profile full' }),
];
const parts = { suite: 'service', target: 'https://x.example/api/v1', profile: 'full', ms: 1_234 };
const startedAt = '2026-01-15T12:00:00.000Z';
const report = createReport({ ...parts, startedAt, notRun: [], leftBehind: ['connection c1'], results });

describe('evidence', () => {
  it('contains no credentials, private text or pictures', () => {
    expect(evidence[0]).toEqual({
      request: 'POST /messages?key=<API key> (API key)',
      requestHeaders: { 'content-type': 'application/json' },
      requestBody: '{"to":"447700900301","text":"<13 characters>"}',
      status: 200,
      headers: { 'content-type': 'application/json', 'www-authenticate': '<API key>' },
      body: '{"text":"<13 characters>","mediaUrl":"<22 characters>","media_url":"<23 characters>","caption":"<7 characters>","label":"<4 characters>","name":"<4 characters>","code":"<9 characters>","secret":"<5 characters>","qr":"<image/png, 121 characters>","id":"c1"}',
      ms: 12,
    });
  });

  it('is only a request line for a rule that is kept', () => {
    const brief = describeExchange(exchange, hide, false);
    expect(brief).not.toHaveProperty('body');
    expect(brief).not.toHaveProperty('requestBody');
  });
});

describe('a report', () => {
  it('has the verdict "violates" only if a rule of level must fails', () => {
    const verdict = (of: readonly CheckResult[], notRun: readonly string[] = []) =>
      createReport({ ...parts, startedAt, notRun, leftBehind: [], results: of }).verdict;
    expect(report).toMatchObject({ verdict: 'violates', violations: 1, advice: 1 });
    expect(report.counts).toEqual({ pass: 1, fail: 2, differs: 1, skip: 1, harness: 0 });
    expect(verdict(results.filter(({ level }) => level !== 'must'))).toBe('conforms');
    expect(verdict([result({ result: 'skip' })])).toBe('unknown');
    expect(verdict([], ['area.one'])).toBe('interrupted');
    expect(verdict(results, ['area.one'])).toBe('violates');
  });

  it('lists as text what failed with its evidence, and which option enables the rest', () => {
    const text = writeText(report);
    expect(text).toContain('FAIL  area.two  violates: Somewhere');
    expect(text).toContain('DIFFERS  other.one  differs from our interpretation: Somewhere');
    expect(text).toContain('expected  this & that');
    expect(text).toContain('request   POST /messages?key=<API key>');
    expect(text).toContain('--profile full: 1 check\n');
    expect(text).toContain('left behind: connection c1');
    expect(text).toContain(
      'The service violates the specification: 1 of 4 checks kept, 1 violated, 1 advised, 1 differs, 1 of 5 not checked.',
    );
    expect(progressLine(result({ result: 'skip', reason: 'why', ms: 2_100 }))).toMatch(
      /^UNKNOWN {2}area.one .*\(why\) 2.1 s$/,
    );
  });

  it('is well-formed JUnit XML', () => {
    const xml = writeJunit(report);
    expect(xml).toContain(
      '<testsuites name="conformance service" tests="5" failures="2" skipped="1" errors="0" time="1.234">',
    );
    expect(xml.match(/<testcase /g)).toHaveLength(5);
    expect(xml.match(/<failure type="must"/g)).toHaveLength(1);
    expect(xml).toContain('message="expected this &amp; that, found �&lt;that&gt;"');
    expect(xml).toContain('<skipped message="needs more (--profile full)"/>');
    expect(xml).toContain('<system-out>differs from our interpretation');
    const tags = [...xml.matchAll(/<(\/?)([a-z-]+)(?:\s[^<>]*?)?(\/?)>/g)];
    const open: string[] = [];
    for (const [, closes, name = '', single] of tags) {
      if (closes === '/') expect(open.pop()).toBe(name);
      else if (single !== '/') open.push(name);
    }
    expect(open).toEqual([]);
    const broken = [result({ result: 'harness', reason: 'no room' })];
    expect(writeJunit({ ...report, results: broken })).toContain(
      '<testsuite name="area" tests="1" failures="0" skipped="0" errors="1"',
    );
  });

  it('is compared with a baseline, which has the violations only', () => {
    expect(writeBaseline(report).split('\n').slice(1)).toEqual(['area.two', '']);
    const baseline = readBaseline('# may fail\n\n area.one\n');
    expect(applyBaseline(report, baseline)).toEqual({ unexpected: ['area.two'], fixed: ['area.one'] });
  });

  it('is a self-contained page without scripts', () => {
    const html = writeHtml(report);
    expect(html).toContain("default-src 'none'");
    expect(html).not.toMatch(/<script|<link|<img|\ssrc=|url\(|@import|\son\w+=/);
    expect(html).toContain('A rule with &lt;b&gt;, &amp; and &quot;quotes&quot;.');
    expect(html.match(/<details /g)).toHaveLength(5);
    expect(html.match(/<details [^>]*open>/g)).toHaveLength(3);
  });

  it('contains no key in any format', () => {
    const forms = [writeText(report), writeJunit(report), writeHtml(report), JSON.stringify(report)];
    for (const form of forms) expect(form).not.toMatch(/very-secret|Private words|whsec/);
  });
});

describe('text in markup', () => {
  it('is escaped, whatever it contains', () => {
    expect(escapeMarkup(`<a b='c'>&"\u0007\ud800😀`)).toBe('&lt;a b=&#39;c&#39;&gt;&amp;&quot;��😀');
  });
});
