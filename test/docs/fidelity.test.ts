import { describe, expect, it } from 'vitest';
import { ASSUMPTIONS } from '../../src/platform/kernel/assumptions.ts';
import { TOLD } from '../requirements/choices.ts';
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

  it('names every choice, every value and every rule that is not modelled', () => {
    const listed = REQUIREMENTS.filter(({ id, kind }) => id.startsWith('choice.') || kind === 'not_modelled');
    expect(listed.filter(({ rule }) => !page.includes(rule))).toEqual([]);
    const names = [...Object.keys(ASSUMPTIONS), ...Object.keys(TOLD)];
    expect(names.filter((name) => !page.includes(`| \`${name}\` |`))).toEqual([]);
    expect(new Set(names).size).toBe(names.length);
  });
});
