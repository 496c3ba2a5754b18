import { describe, expect, it } from 'vitest';
import { readSources } from './source-files.ts';
import { lineAt } from './source-parts.ts';

/** The words for faults and for their effect on a call or a delivery. `default` and SQL are excluded. */
const WORDS =
  /(?<![dD]e)[fF]ault|[tT]amper|[rR]eorder|[dD]uplicat|[tT]runcat|[lL]ost_?[aA]nswer|[nN]ot_?[pP]ersisted|[sS]tale_?[tT]imestamp/g;

function findWords(source: string): { readonly word: string; readonly line: number }[] {
  return [...source.matchAll(WORDS)].map(({ 0: word, index }) => ({ word, line: lineAt(source, index) }));
}

describe('the code of the service', () => {
  it('contains no faults, which act around its calls, attempts and writes', () => {
    const files = readSources('src/platform');
    expect(files.length).toBeGreaterThan(100);
    expect(readSources('src/sandbox/faults').flatMap(({ source }) => findWords(source))).not.toEqual([]);
    const found = files.flatMap(({ path, source }) =>
      findWords(source).map(({ word, line }) => `${path}:${line} ${word}`),
    );
    expect(found).toEqual([]);
  });
});
