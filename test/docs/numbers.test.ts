import { expect, it } from 'vitest';
import { readArguments } from '../../bench/arguments.ts';
import { SIZES } from '../../bench/report/table-sizes.ts';
import { readBlocks, readProjectFile } from '../support/markdown.ts';

const BLOCKS = readBlocks(readProjectFile('docs/numbers.md'));

it('docs/numbers.md shows the query with which the benchmarks measure the tables', () => {
  expect(BLOCKS.find(({ language }) => language === 'sql')?.text).toBe(SIZES);
});

it('docs/numbers.md names benchmarks that exist', () => {
  const [, ...lines] = BLOCKS.find(({ language }) => language === 'sh')?.text.split('\n') ?? [];
  const words = lines.map((line) => /^npm run bench -- ([^#]*\S) +#/.exec(line)?.[1]?.split(' ') ?? []);
  expect(words.map((argv) => readArguments(argv)?.benches)).toEqual([
    ['ingest'],
    ['delivery'],
    ['reconcile'],
    ['sends'],
    ['console'],
    ['ingest'],
  ]);
});
