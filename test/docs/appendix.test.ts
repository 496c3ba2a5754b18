import { describe, expect, it } from 'vitest';
import { OWNERS } from '../architecture/table-owners.ts';
import { readProjectFile } from '../support/markdown.ts';
import { buildAppendix, CHAPTERS, GROUPS, SECURITY_PAGE } from './appendix/pages.ts';

describe('the appendix', () => {
  it.each(Object.entries(buildAppendix()))('%s is what `npm run docs` writes', (path, text) => {
    expect(readProjectFile(path).split('\n')).toEqual(text.split('\n'));
  });

  it('says of each table of the connector what it keeps', () => {
    const [page = ''] = readProjectFile('docs/appendix/tables.md').split('Outside the database');
    const named = page.split('\n').flatMap((line) => [...(line.split('|')[1] ?? '').matchAll(/`(\w+)`/g)]);
    const tables = Object.keys(OWNERS).filter((name) => name.startsWith('connector.'));
    expect(named.map(([, name]) => `connector.${name}`).sort()).toEqual(tables.sort());
  });

  it('names the tests of each promise', () => {
    const promises = GROUPS.flatMap(({ promises: all }) => all);
    expect(promises.length).toBeGreaterThan(40);
    for (const { tests } of promises) expect(tests).toMatch(/^`[\w/-]+\.test\.ts`/);
  });

  it('has each requirement of ASVS once, with its state and the reason', () => {
    const rows = CHAPTERS.flatMap(({ rows: all }) => all);
    const ids = rows.flatMap(({ id }) => id.split(', '));
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    expect(CHAPTERS).toHaveLength(17);
    for (const { state, because } of rows) {
      expect(['met', 'not met', 'not applicable']).toContain(state);
      expect(because).not.toBe('');
    }
  });

  it('quotes only titles of tests that exist', () => {
    const page = readProjectFile(SECURITY_PAGE);
    const quotes = [...page.matchAll(/`([\w/.-]+\.test\.ts)`(?:: ([^`|;,)\n]+)| \(([^`|;,)\n]+)\))/g)].map(
      ([, file, after, inside]) => ({
        file: `test/${file}`,
        title: String(after ?? inside)
          .replace('…', '')
          .trim(),
      }),
    );
    expect(quotes.length).toBeGreaterThan(30);
    expect(quotes.filter(({ file, title }) => !readProjectFile(file).includes(title))).toEqual([]);
  });
});
