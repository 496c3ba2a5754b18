import { describe, expect, it } from 'vitest';
import { ASSUMPTIONS } from '../../src/platform/assumptions.ts';
import { buildFidelityPage, FIDELITY_PAGE } from '../requirements/fidelity-page.ts';
import { REQUIREMENTS } from '../requirements.ts';
import { readProjectFile } from '../support/markdown.ts';

describe('docs/fidelity.md', () => {
  const page = buildFidelityPage();

  it('is what `npm run docs` writes (run it and commit the page)', () => {
    // Line by line, so that a failure names what changed and not the whole page.
    const lines = readProjectFile(FIDELITY_PAGE).split('\n');
    const written = page.split('\n');
    expect(lines.filter((line) => !written.includes(line))).toEqual([]);
    expect(written.filter((line) => !lines.includes(line))).toEqual([]);
    expect(lines).toEqual(written);
  });

  it('names every sentence and every assumption', () => {
    expect(REQUIREMENTS.filter(({ id }) => !page.includes(`<sub>${id}</sub>`))).toEqual([]);
    expect(Object.keys(ASSUMPTIONS).filter((name) => !page.includes(`| \`${name}\` |`))).toEqual([]);
  });

  it('has a test in every row of what is proven, and a reason in every other row', () => {
    const rows = page.split('\n').filter((line) => line.includes('<sub>'));
    expect(rows.length).toBe(REQUIREMENTS.length);
    expect(rows.filter((row) => /\|\s*\|$/.test(row))).toEqual([]);
  });
});
