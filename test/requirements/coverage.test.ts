import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { REQUIREMENTS } from '../requirements.ts';
import { readCitations, readFileCitations } from '../support/citations.ts';
import { ROOT } from '../support/root.ts';
import { readProofs } from './run-report.ts';

const { citations, strays } = readCitations();
const running = new Set(citations.filter(({ runs }) => runs).map(({ id }) => id));

describe('the specification', () => {
  it('has a test for every sentence that counts as proven', () => {
    const unproven = REQUIREMENTS.filter(({ id, kind }) => kind === 'proven' && !running.has(id));
    expect(unproven.map(({ id, rule }) => `${id}: ${rule}`)).toEqual([]);
  });

  it('is cited only with ids that exist, and only by tests that run', () => {
    const known = new Map(REQUIREMENTS.map((requirement) => [requirement.id as string, requirement]));
    expect(citations.filter(({ id }) => !known.has(id))).toEqual([]);
    expect(citations.filter(({ runs }) => !runs)).toEqual([]);
    expect(strays).toEqual([]);
  });

  it('lists no sentence as unproven that a test proves', () => {
    const unproven = REQUIREMENTS.filter(({ kind }) => kind !== 'proven');
    expect(unproven.filter(({ id }) => running.has(id)).map(({ id }) => id)).toEqual([]);
  });

  it('has one entry per sentence, each with a rule of its own, and a reason if nothing proves it', () => {
    const ids = REQUIREMENTS.map(({ id }) => id);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    expect(ids.filter((id) => !/^[a-z-]+(?:\.[\w-]+)+$/.test(id))).toEqual([]);
    expect(REQUIREMENTS.filter(({ rule }) => !/^.{10,140}\.$/.test(rule))).toEqual([]);
    const hasReason = ({ reason }: { readonly reason?: string }): boolean => (reason ?? '') !== '';
    expect(REQUIREMENTS.filter((entry) => hasReason(entry) === (entry.kind === 'proven'))).toEqual([]);
    expect(ids.length).toBeGreaterThan(400);
  });
});

describe('citations', () => {
  const read = (text: string) => readFileCitations('x.test.ts', text);

  it('are read with the names of suites and tests', () => {
    const text = `
      describe('a page', () => {
        it('is short', async (): Promise<void> => { proves('limits.page'); proves('limits.text'); });
        it.each([1, 2])(\`has \${kind} of %s\`, (n: number) => { proves('limits.media'); expect(n); });
        it('cites nothing', () => {});
        it('has a limit', { timeout: 5 }, () => { proves('limits.page'); expect(1); });
      });`;
    const at = { file: 'x.test.ts', runs: true };
    expect(read(text)).toEqual({
      citations: [
        { ...at, id: 'limits.page', name: ['a page', 'is short'] },
        { ...at, id: 'limits.text', name: ['a page', 'is short'] },
        { ...at, id: 'limits.media', name: ['a page', 'has … of %s'] },
        { ...at, id: 'limits.page', name: ['a page', 'has a limit'] },
      ],
      strays: [],
    });
  });

  it.each([
    "it.skip('x', () => { proves('limits.page'); })",
    "it.skipIf(slow)('x', () => { proves('limits.page'); })",
    "test.runIf(fast).each([1])('x', () => { proves('limits.page'); })",
    "describe.skip('a', () => { describe('b', () => { it('x', () => { proves('limits.page'); }); }); })",
    "it('x', { skip: slow }, () => { proves('limits.page'); })",
  ])('do not count if the test does not always run: %s', (text) => {
    expect(read(text).citations).toMatchObject([{ id: 'limits.page', runs: false }]);
  });

  it.each([
    "it('x', () => { expect(1); proves('limits.page'); })",
    "it('x', () => { if (slow) { proves('limits.page'); } })",
    "describe('x', () => { proves('limits.page'); })",
    'it("x", () => { proves(id); })',
    "it('x', () => { proves(...ids); })",
    "it(name, () => { proves('limits.page'); })",
  ])('that cannot be read statically are reported: %s', (text) => {
    expect(read(text)).toEqual({ citations: [], strays: ['x.test.ts:1'] });
  });
});

describe('the reports of test runs', () => {
  const report = (status: string, proves?: readonly string[]) => ({
    testResults: [
      {
        name: join(ROOT, 'test/x.test.ts'),
        assertionResults: [
          { status, fullName: 'a page is short', meta: proves === undefined ? {} : { proves } },
        ],
      },
    ],
  });

  it('prove the rules that passed tests cite', () => {
    const proof = { file: 'test/x.test.ts', name: 'a page is short' };
    expect([...readProofs([report('passed', ['limits.page', 'limits.text'])])]).toEqual([
      ['limits.page', [{ id: 'limits.page', ...proof }]],
      ['limits.text', [{ id: 'limits.text', ...proof }]],
    ]);
  });

  it('prove together what each of them proves', () => {
    const reports = [report('passed', ['limits.page']), report('passed', ['limits.text'])];
    expect([...readProofs(reports).keys()]).toEqual(['limits.page', 'limits.text']);
  });

  it.each(['failed', 'skipped', 'pending', 'todo'])('prove nothing by a test that was %s', (status) => {
    expect([...readProofs([report(status, ['limits.page'])])]).toEqual([]);
    expect([...readProofs([report('passed')])]).toEqual([]);
  });
});
